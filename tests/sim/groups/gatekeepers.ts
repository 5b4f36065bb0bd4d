import type { Process } from "../schedule.ts";
import { GROUP, members, nodeOf } from "../world.ts";
import { gtidOf } from "./agents.ts";
import { write } from "./engine.ts";
import type { GroupHost, GroupWorld, Server } from "./world.ts";

/** Samples of the own member, and whom it lets join. */
export function* runSampling(world: GroupWorld, host: GroupHost): Process {
  for (;;) {
    const { keeper, server, ordinal } = host;
    if (host.up && keeper.alive) {
      const node = nodeOf(ordinal);
      const view = server.alive
        ? { node, ...world.rules.readView(rowsOf(ordinal, server), members) }
        : { node, state: "away" as const, online: [], writable: false };
      keeper.known.take({ at: world.now(), view });
      host.invite = world.rules.chooseInvite(host.invite, { node, members }, keeper.known.all(), world.now());
    } else host.invite = undefined;
    yield 250 + world.random.below(60);
  }
}

type Row = Parameters<GroupWorld["rules"]["readView"]>[0][number];

/** As `memberQuery` answers. */
function rowsOf(ordinal: number, server: Server): Row[] {
  const common = {
    closed: server.closed ? (1 as const) : (0 as const),
    gtid: gtidOf(server),
    received: null,
    group_name: GROUP,
  };
  if (server.group === 0 && server.state === "offline")
    return [{ ...common, host: null, state: null, role: null, own: null, view: null }];
  if (server.group === 0)
    return [{ ...common, host: addressOf(ordinal), state: "ERROR", role: null, own: 1, view: null }];
  const { listed, online, primary, view } = server.view;
  const all = listed.includes(ordinal) ? listed : [...listed, ordinal];
  return all.map((each) => {
    const state = each === ordinal ? server.state.toUpperCase() : online.includes(each) ? "ONLINE" : "UNREACHABLE";
    const role = each === primary ? "PRIMARY" : "SECONDARY";
    return {
      ...common,
      host: addressOf(each),
      state,
      role,
      own: each === ordinal ? 1 : 0,
      view: `${server.group}:${view}`,
    };
  });
}

const addressOf = (ordinal: number): string => members[ordinal]?.address ?? "";

/** Clients of one host, through its proxy. */
export function* runClients(world: GroupWorld, host: GroupHost): Process {
  for (;;) {
    yield world.between(15, 60);
    const to = host.proxy.forwards.indexOf(true);
    if (!host.up || to < 0 || host.proxy.forwards.lastIndexOf(true) !== to || !world.reaches(host.ordinal, to))
      continue;
    const acknowledge = write(world, to);
    if (acknowledge !== undefined) world.after(world.between(1, 15), acknowledge);
  }
}
