import { type MemberView, newest } from "@moorage/contract/agent";
import { reachedBy } from "../../../packages/agent/src/gatekeeper/choose-invite.ts";
import type { ClusterViews } from "../../../packages/agent/src/gatekeeper/gatekeeper-client.ts";
import type { GroupDecision, GroupFacts } from "../../../packages/agent/src/replication/group/decide-group.ts";
import { reachableMembers } from "../../../packages/agent/src/replication/member/due-reclone.ts";
import type { Process } from "../schedule.ts";
import { GROUP, members, nodeOf, ordinalOf, othersOf } from "../world.ts";
import { endServer, fallOut, groupOf, majorityOf, remove, startServer } from "./engine.ts";
import type { GroupHost, GroupWorld, Server } from "./world.ts";

const setOf = (transactions: number): string => (transactions === 0 ? "" : `${GROUP}:1-${transactions}`);
const countOf = (gtid = ""): number => Number(gtid.split("-").at(-1) ?? 0) || 0;
export const gtidOf = ({ log, group, received }: Server): string =>
  setOf(group === 0 ? log.length : Math.max(log.length, received));
const viewName = ({ group, view }: Server): string => `${group}:${view.view}`;

/** As `watchCluster`: its own view, with whom it reaches, and whom it lets join. */
export function ownView({ ordinal, keeper, invite }: GroupHost): MemberView | undefined {
  const views = keeper.known.all();
  const view = newest(nodeOf(ordinal), views);
  if (view === undefined) return undefined;
  const invites = invite !== undefined && view.state === "online" && { invites: invite.node };
  return { ...view, reaches: reachedBy(nodeOf(ordinal), members, views), ...invites };
}

function viewsOf(host: GroupHost): ClusterViews | undefined {
  if (!host.keeper.alive) return undefined;
  const unknown: MemberView = { node: nodeOf(host.ordinal), ageMs: 0, state: "away", online: [], writable: false };
  const all = host.keeper.known.all();
  return {
    own: ownView(host) ?? unknown,
    others: othersOf(host.ordinal).flatMap((each) => newest(nodeOf(each), all) ?? []),
  };
}

/** What `gatherGroup` reads. */
export function gather(world: GroupWorld, host: GroupHost) {
  const { server } = host;
  const views = viewsOf(host);
  const [isOut, group] = [server.group === 0, groupOf(world, server.group)];
  const online = isOut ? [] : server.view.online;
  const own = {
    state: server.state,
    role: isOut ? undefined : server.view.primary === host.ordinal ? ("primary" as const) : ("secondary" as const),
    view: isOut ? undefined : viewName(server),
    primary: isOut ? undefined : members[server.view.primary]?.address,
    online: online.map(String),
    readOnly: server.closed,
    isPatient: server.isPatient,
    hasDonor:
      group?.listed.some((each) => each !== host.ordinal && world.host(each).server.state === "online") === true,
    gtid: gtidOf(server),
    backlogSeconds: 0,
  };
  const inGroup = reachableMembers(views?.others ?? []).filter(({ state }) => state === "online");
  const most = Math.max(...inGroup.map(({ gtid, received }) => Math.max(countOf(gtid), countOf(received))));
  const isErrant = isOut && inGroup.length > 0 && server.log.length > most;
  const start = { start: String(server.starts), wasGroupStarted: server.wasGroupStarted };
  const used = own.state === "offline" ? world.rules.trulyUsed(host.used, start) : host.used;
  const facts: GroupFacts = { own, others: views?.others, used, errant: isErrant ? setOf(server.log.length) : "" };
  return { own, views, facts };
}

/** The reconciler and the steps of a member. */
export function* runAgent(world: GroupWorld, host: GroupHost): Process {
  for (;;) {
    yield world.between(150, 450);
    if (!host.up || !host.agentUp) continue;
    const { boot, spec, generation } = host;
    const isUp = (): boolean => host.up && host.agentUp && host.boot === boot;
    host.run = { spec, generation };
    const takesPart = yield* runOnce(world, host, isUp);
    if (isUp()) host.ran = { generation, takesPart };
  }
}

function* runOnce(world: GroupWorld, host: GroupHost, isUp: () => boolean): Process<boolean> {
  const { server, run } = host;
  if (!server.alive) {
    yield world.between(800, 2500);
    if (isUp() && !server.alive) startServer(host);
    return false;
  }
  const decision = world.rules.decideGroup(run.spec, gather(world, host).facts);
  if (decision.kind === "stay") return true;
  if (decision.kind === "wait" || decision.kind === "errant") return false;
  yield world.between(5, 60);
  if (host.generation === run.generation && isUp() && server.alive) yield* act(world, host, decision, isUp);
  return false;
}

function* act(world: GroupWorld, host: GroupHost, decision: GroupDecision, isUp: () => boolean): Process {
  const { server, ordinal } = host;
  const { starts } = server;
  const serves = (): boolean => host.up && server.alive && server.starts === starts;
  switch (decision.kind) {
    case "leave": {
      yield world.between(50, 800);
      const group = groupOf(world, server.group);
      if (!serves() || server.state === "offline") return;
      if (group !== undefined && majorityOf(world, group)?.includes(ordinal) === true) remove(group, ordinal);
      return fallOut(world, host, "offline");
    }
    case "arrive":
      server.isPatient = false;
      return;
    case "make_primary": {
      host.used = { ...host.used, made_primary: decision.id };
      yield world.between(50, 1000);
      const group = groupOf(world, server.group);
      if (
        !serves() ||
        group === undefined ||
        server.state !== "online" ||
        majorityOf(world, group)?.includes(ordinal) !== true
      )
        return;
      group.primary = ordinal;
      world.say(`node ${ordinal} is made primary`);
      return world.happens("a switchover");
    }
    case "bootstrap": {
      host.used = { ...host.used, bootstrapped: decision.id, bootstrapped_by: String(server.starts) };
      yield world.between(5, 200);
      // What was sent to the server happens, whether the agent lives or not.
      if (!isUp() || !serves()) return;
      server.wasGroupStarted = true;
      yield world.between(100, 1500);
      if (!serves() || server.group !== 0) return;
      const id = Math.max(0, ...world.groups.map((each) => each.id), world.writes) + 1;
      world.groups.push({ id, view: 1, listed: [ordinal], primary: ordinal, log: [...server.log], missed: new Map() });
      enter(world, host, id, "online");
      server.view = { view: 1, listed: [ordinal], online: [ordinal], primary: ordinal };
      world.say(`node ${ordinal} bootstraps a group with ${server.log.length} transactions`);
      return world.happens("a group is bootstrapped");
    }
    case "join":
      return yield* join(world, host, decision.through, serves);
    case "restart":
      yield 800;
      if (!serves()) return;
      startServer(host);
      server.closed = false;
      return;
    case "reclone":
      return yield* reclone(world, host, decision, serves);
    case "stay":
    case "wait":
    case "errant":
  }
}

function enter(world: GroupWorld, { server }: GroupHost, group: number, state: "online" | "recovering"): void {
  Object.assign(server, { group, state, wasGroupStarted: true, aloneSince: undefined, received: server.log.length });
  server.isPatient = state === "recovering";
  server.onlineAt = world.now() + world.between(300, 3000);
}

function* join(world: GroupWorld, host: GroupHost, through: readonly string[], serves: () => boolean): Process {
  const { server, ordinal } = host;
  server.wasGroupStarted = true;
  yield world.between(200, 2000);
  if (!serves() || server.group !== 0) return;
  for (const seed of through.map(ordinalOf)) {
    const group = groupOf(world, world.host(seed).server.group);
    const isLed = group !== undefined && majorityOf(world, group)?.includes(seed) === true;
    if (!isLed || !world.reaches(ordinal, seed) || group.listed.includes(ordinal)) continue;
    if (server.log.length > group.log.length) return fallOut(world, host, "error");
    group.listed = [...group.listed, ordinal].toSorted((a, b) => a - b);
    group.view += 1;
    enter(world, host, group.id, "recovering");
    server.view = { view: group.view, listed: [...group.listed], online: [seed], primary: group.primary };
    return world.say(`node ${ordinal} joins through ${seed}`);
  }
  yield 2000;
}

function* reclone(
  world: GroupWorld,
  host: GroupHost,
  { id, donor }: { id: string; donor: string },
  serves: () => boolean,
): Process {
  const from = world.host(ordinalOf(donor));
  host.used = { ...host.used, recloning: id };
  yield world.between(1000, 4000);
  if (!serves() || !from.server.alive || !world.reaches(host.ordinal, from.ordinal)) return;
  endServer(world, host);
  host.server.log = [...from.server.log];
  host.used = { ...host.used, recloned: id };
  world.happens("a member is re-cloned");
  world.say(`node ${host.ordinal} has the data of ${from.ordinal}`);
}
