import { type MemberView, newest, serverUuidOf } from "@moorage/contract/agent";
import type { ClusterViews } from "../../packages/agent/src/gatekeeper/gatekeeper-client.ts";
import {
  type FollowingDecision,
  type FollowingFacts,
  memberAhead,
} from "../../packages/agent/src/replication/following/decide-following.ts";
import { fetchProgress } from "../../packages/agent/src/replication/following/fetch-progress.ts";
import { stillSince } from "../../packages/agent/src/replication/following/compare-errant.ts";
import { reachableMembers } from "../../packages/agent/src/replication/member/due-reclone.ts";
import { noteOpening } from "./checks.ts";
import type { Process } from "./schedule.ts";
import { endServer, gtidOf, isApplied, replicateFrom, startServer, stopReplicating } from "./servers.ts";
import { fromText, missingIn, textOf } from "./transactions.ts";
import { GROUP, type Host, nodeOf, ordinalOf, othersOf, type Server, type World } from "./world.ts";

export type Gathered = { own: OwnState; views: ClusterViews | undefined; facts: FollowingFacts };
type OwnState = ReturnType<typeof ownStateOf>;

/** What `gatherFollowing` reads from a server and a gatekeeper. */
export function gather(world: World, host: Host): Gathered {
  const { used, server } = host;
  const views = viewsOf(host);
  const others = views?.others.filter(({ group = GROUP }) => group === GROUP);
  const own = ownStateOf(server);
  host.still = stillSince(host.still, own, world.now());
  const source = server.source === undefined ? undefined : nodeOf(server.source);
  const facts: FollowingFacts = {
    own: { ...own, source, hasRoomAgain: false },
    others,
    terms: reachableMembers(views?.others ?? []).flatMap(({ term }) => term ?? []),
    used,
    errant: errantOf(world, host, others ?? []),
    stalledMs: stalledMs(world, host, others ?? []),
    failedAttempts: 0,
  };
  return { own, views, facts };
}

const ownStateOf = (server: Server) => ({
  open: server.open,
  receiving: server.receiving,
  applying: server.applying,
  gtid: textOf(gtidOf(server)),
  isApplied: isApplied(server),
  isPurged: false,
  backlogSeconds: 0,
});

function stalledMs(world: World, host: Host, others: readonly MemberView[]): number {
  const { server, spec } = host;
  const gtid = textOf(gtidOf(server));
  const isFuture = spec.cluster.primary.node === spec.node && !server.open;
  const ahead = isFuture ? memberAhead(spec.cluster.primary, reachableMembers(others), { gtid }) : undefined;
  host.fetch = fetchProgress(host.fetch, ahead, gtid, world.now());
  return host.fetch === undefined ? 0 : world.now() - host.fetch.since;
}

function viewsOf({ keeper, ordinal, spec }: Host): ClusterViews | undefined {
  if (!keeper.alive) return undefined;
  const all = keeper.known.all();
  const unknown: MemberView = { node: spec.node, ageMs: 0, state: "away", online: [], writable: false };
  const others = othersOf(ordinal).flatMap((each) => newest(nodeOf(each), all) ?? []);
  return { own: newest(spec.node, all) ?? unknown, others };
}

function errantOf(world: World, { spec, server, still }: Host, others: readonly MemberView[]): string | undefined {
  const primary = reachableMembers(others).find(({ node }) => node === spec.cluster.primary.node);
  if (primary?.gtid === undefined) return undefined;
  const missing = missingIn(gtidOf(server), fromText(primary.gtid));
  return world.rules.comparedErrant(missing, still, world.now() - primary.ageMs);
}

/** The reconciler and the steps of a member. */
export function* runAgent(world: World, host: Host): Process {
  for (;;) {
    yield world.between(150, 450);
    if (!host.up) continue;
    const turn = turnOf(host);
    if (host.server.alive) yield* takePart(world, host, turn);
    else yield* bringBack(world, host, turn);
  }
}

/** Whether the agent is still the same, with the same spec, and its server runs. */
function turnOf(host: Host) {
  const { boot, generation } = host;
  const isUp = (): boolean => host.up && host.boot === boot;
  return {
    isUp,
    isSuperseded: (): boolean => host.generation !== generation,
    serves: (): boolean => isUp() && host.server.alive,
  };
}
type Turn = ReturnType<typeof turnOf>;

/** As `fenceDeadPrimary`, and the start of the server. */
function* bringBack(world: World, host: Host, { isUp }: Turn): Process {
  const { spec, used, boot } = host;
  const { isFenced, diedAsPrimary } = world.rules;
  if (isFenced(spec, used)) return;
  if (diedAsPrimary(spec, used, boot)) {
    yield world.between(20, 200);
    if (!isUp()) return;
    if (host.reachesUs) {
      const { term } = spec.cluster.primary;
      host.used = { ...host.used, fenced: term };
      return world.say(`host ${host.ordinal} fences term ${term}`);
    }
  }
  yield world.between(800, 2500);
  if (isUp() && !host.server.alive) startServer(host.server);
}

function* takePart(world: World, host: Host, turn: Turn): Process {
  const { facts } = gather(world, host);
  const decision = world.rules.decideFollowing(host.spec, facts);
  if (decision.kind === "stay" || decision.kind === "wait" || decision.kind === "unusable") return;
  yield world.between(5, 60);
  if (!turn.isSuperseded() && turn.serves()) yield* act(world, host, decision, turn);
}

function* act(world: World, host: Host, decision: FollowingDecision, turn: Turn): Process {
  const { server, ordinal } = host;
  switch (decision.kind) {
    case "close":
      yield world.between(10, 300);
      if (!turn.serves()) return;
      server.open = false;
      return world.say(`node ${ordinal} closes`);
    case "settle":
      return void (yield* settle(host, turn));
    case "leave":
      return stopReplicating(server);
    case "follow":
      return follow(world, host, decision.source);
    case "errant":
      yield world.between(200, 1500);
      if (turn.serves()) host.savedErrant = decision.transactions;
      return;
    case "open":
      return yield* open(world, host, decision, turn);
    case "restart":
      return yield* restartForClone(host, turn);
    case "reclone":
      return yield* reclone(world, host, decision, turn);
    case "stay":
    case "wait":
    case "unusable":
  }
}

/** False: it could not be completed. */
function* settle({ server }: Host, { serves, isSuperseded }: Turn): Process<boolean> {
  if (server.source === undefined) return true;
  server.receiving = "off";
  server.applying = true;
  while (!isApplied(server)) {
    yield 50;
    if (isSuperseded() || !serves()) return false;
  }
  return true;
}

function follow(world: World, host: Host, source: string): void {
  const { primary } = host.spec.cluster;
  if (primary.node === source) host.used = { ...host.used, followed: primary.term };
  replicateFrom(world, host, ordinalOf(source));
  world.say(`node ${host.ordinal} replicates from ${ordinalOf(source)}`);
}

function* open(world: World, host: Host, { term, afterMs }: { term: number; afterMs: number }, turn: Turn): Process {
  const { server, boot } = host;
  yield afterMs;
  if (!turn.serves() || !(yield* settle(host, turn))) return;
  const again = world.rules.decideFollowing(host.spec, gather(world, host).facts);
  if (turn.isSuperseded() || again.kind !== "open") return;
  server.source = undefined;
  server.received = new Map();
  stopReplicating(server);
  yield world.between(1, 20);
  if (!turn.serves()) return;
  const isFirst = host.used.opened?.term !== term;
  host.used = { ...host.used, opened: { term, boot } };
  yield world.between(1, 20);
  if (!turn.serves()) return;
  server.open = true;
  world.say(`node ${host.ordinal} opens in term ${term} with ${textOf(server.executed)}`);
  noteOpening(world, host, term, isFirst);
}

/** The engine refuses to clone into a server with `super_read_only`. */
function* restartForClone(host: Host, { serves }: Turn): Process {
  const { server, used } = host;
  if (used.opened !== undefined) host.used = { ...used, opened: { term: used.opened.term } };
  yield 800;
  if (!serves()) return;
  startServer(server);
  server.open = true;
  server.forClone = true;
}

function* reclone(
  world: World,
  host: Host,
  { id, donor }: { id: string; donor: string },
  { serves, isUp }: Turn,
): Process {
  const { server, ordinal } = host;
  const from = world.host(ordinalOf(donor));
  host.used = { ...host.used, recloning: id };
  yield world.between(1000, 4000);
  if (!serves() || !from.server.alive || !world.reaches(ordinal, from.ordinal)) return;
  server.executed = new Map(from.server.executed);
  server.received = new Map();
  server.source = undefined;
  endServer(world, host);
  host.savedErrant = undefined;
  host.used = { ...host.used, recloned: id };
  yield 500;
  if (!isUp()) return;
  server.uuid = serverUuidOf(GROUP, world.rules.markOf(host.spec.node, id));
  startServer(server);
  world.happens("a member is re-cloned");
  world.say(`node ${ordinal} has the data of ${from.ordinal}`);
}
