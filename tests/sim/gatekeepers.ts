import { type MemberView, newest } from "@moorage/contract/agent";
import { createKnownViews } from "../../packages/agent/src/gatekeeper/known-views.ts";
import { awayView } from "../../packages/agent/src/gatekeeper/sample-member.ts";
import type { Process } from "./schedule.ts";
import { replicasOf } from "./servers.ts";
import { textOf } from "./transactions.ts";
import { type Host, members, nodeOf, type Server, type World } from "./world.ts";

/** Until a gatekeeper that was started has queried enough members. */
const firstRoundMs = 700;
const askEveryMs = 250;
const answerWithinMs = 1000;

/** What both kinds of clusters share. */
type Guarded = Pick<Host, "ordinal" | "up" | "keeper" | "proxy">;
type Around = Pick<World, "now" | "between" | "reaches"> & { rules: Pick<World["rules"], "mayBePrimary"> };

export function startGatekeeper(world: Pick<World, "now">, host: Pick<Host, "keeper">): void {
  host.keeper = { alive: true, since: world.now(), known: createKnownViews(world.now) };
}

/** Samples of the own member, as its server reports itself. */
export function* runSampling(world: World, host: Host): Process {
  for (;;) {
    if (host.up && host.keeper.alive) sample(world, host);
    yield askEveryMs + world.random.below(60);
  }
}

function sample(world: World, { ordinal, server, spec, keeper }: Host): void {
  const { primary, group } = spec.cluster;
  const file = { node: spec.node, group, members, primary: { node: primary.node, term: primary.term } };
  const at = world.now();
  if (!server.alive) return keeper.known.take({ at, view: awayView(file) });
  const row = rowOf(server);
  const followers = replicasOf(world, ordinal).map((each) => ({ ...row, follower: addressOf(each) }));
  const rows = followers.length > 0 ? followers : [{ ...row, follower: null }];
  keeper.known.take({ at, view: { node: spec.node, ...world.rules.readFollowing(rows, file) } });
}

const addressOf = (ordinal: number | undefined): string | null =>
  ordinal === undefined ? null : (members[ordinal]?.address ?? null);

const rowOf = (server: Server) => ({
  uuid: server.uuid,
  closed: server.open ? (0 as const) : (1 as const),
  gtid: textOf(server.executed),
  received: textOf(server.received),
  source: addressOf(server.source),
  receiving: ({ on: "ON", connecting: "CONNECTING", off: "OFF" } as const)[server.receiving],
  applying: server.applying ? ("ON" as const) : ("OFF" as const),
});

/** Queries another host's gatekeeper for its member. */
export function* runAsking<H extends Guarded>(
  world: Around,
  host: H,
  other: H,
  viewOf: (host: H) => MemberView | undefined = ({ ordinal, keeper }) => newest(nodeOf(ordinal), keeper.known.all()),
): Process {
  for (;;) {
    yield askEveryMs;
    if (!host.up || !host.keeper.alive) continue;
    const at = world.now();
    if (!world.reaches(host.ordinal, other.ordinal)) {
      yield answerWithinMs;
      continue;
    }
    yield world.between(1, 40);
    if (!other.keeper.alive) {
      if (world.reaches(host.ordinal, other.ordinal)) host.keeper.known.refuse(nodeOf(other.ordinal));
      continue;
    }
    const view = viewOf(other);
    yield world.between(1, 40);
    if (view !== undefined && host.keeper.alive && world.reaches(host.ordinal, other.ordinal)) take(host, at, view);
  }
}

function take(host: Guarded, at: number, { ageMs, kept: _, ...view }: MemberView): void {
  host.keeper.known.take({ at: at - ageMs, view });
}

/** Sets the servers of the host's proxy. */
export function* runVerdicts(world: Around, host: Guarded): Process {
  for (;;) {
    yield 100;
    if (!host.up || !host.keeper.alive || world.now() - host.keeper.since < firstRoundMs) continue;
    const views = host.keeper.known.all();
    host.proxy.forwards = members.map(({ node }) => world.rules.mayBePrimary(node, views));
  }
}

/** HAProxy queries its gatekeeper each second. After four queries without an answer it forwards to nobody. */
export function* runProxyChecks(host: Guarded): Process {
  const { proxy } = host;
  for (;;) {
    yield 1000;
    proxy.missedChecks = host.up && host.keeper.alive ? 0 : proxy.missedChecks + 1;
    if (proxy.missedChecks < 4) continue;
    yield 800;
    if (!host.keeper.alive) proxy.forwards = [false, false, false];
  }
}

/** Clients of one host, through its proxy. */
export function* runClients(world: World, host: Host): Process {
  for (;;) {
    yield world.between(15, 60);
    const to = host.proxy.forwards.indexOf(true);
    if (!host.up || to < 0 || host.proxy.forwards.lastIndexOf(true) !== to) continue;
    const { server } = world.host(to);
    if (server.alive && server.open && !server.forClone && world.reaches(host.ordinal, to)) write(world, to);
  }
}

function write(world: World, to: number): void {
  const { server, used } = world.host(to);
  const number = (server.executed.get(server.uuid) ?? 0) + 1;
  server.executed.set(server.uuid, number);
  const term = used.opened?.term ?? 0;
  noteWritten(world, { term, uuid: server.uuid, last: number });
  const newestTerm = world.newestTerm;
  if ((used.fenced ?? 0) >= term) world.violate(`node ${to} acknowledges a write in term ${term}, which is fenced`);
  if (term < newestTerm.term)
    world.violate(`node ${to} acknowledges a write in term ${term} after one in term ${newestTerm.term}`);
  if (term > newestTerm.term) {
    world.newestTerm = { term, at: world.now() };
    world.say(`first write in term ${term}, to node ${to}`);
  }
  world.acknowledged.push({ uuid: server.uuid, number });
}

function noteWritten({ written }: World, made: World["written"][number]): void {
  const before = written.find(({ term, uuid }) => term === made.term && uuid === made.uuid);
  if (before !== undefined) before.last = made.last;
  else written.splice(written.filter(({ term }) => term <= made.term).length, 0, made);
}
