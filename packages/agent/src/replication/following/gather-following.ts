import type { GroupReport, MemberView } from "@moorage/contract/agent";
import { diskDecision } from "../../disk/disk-decision.ts";
import { spaceOf } from "../../disk/server-writes.ts";
import type { ClusterViews } from "../../gatekeeper/gatekeeper-client.ts";
import { usedIds } from "../../specs/node-state.ts";
import { reachableMembers } from "../member/due-reclone.ts";
import { gtidSubtract } from "../member/member-sql.ts";
import { comparedErrant, stillSince } from "./compare-errant.ts";
import { decideFollowing, type FollowingDecision, type FollowingFacts, memberAhead } from "./decide-following.ts";
import { fetchProgress } from "./fetch-progress.ts";
import type { FollowingContext, FollowingMemory } from "./following-memory.ts";
import { type OwnFollowing, readFollowingState } from "./following-sql.ts";
import { placeOf, termsOf, transactionsOf } from "./report-following.ts";
import { findSavedErrant } from "./save-errant.ts";

type Context = Pick<FollowingContext, "spec" | "paths" | "viewsOf" | "following">;

type ObservedFollowing = { own: OwnFollowing; views: ClusterViews | undefined; facts: FollowingFacts };

export async function gatherFollowing({ spec, paths, viewsOf, following }: Context): Promise<ObservedFollowing> {
  const own = await readFollowingState(paths.socket);
  const queriedAt = performance.now();
  const [views, used] = await Promise.all([viewsOf(spec.node), usedIds(paths)]);
  const { cluster } = spec;
  const memory = following(spec.node);
  // The data of a member on an earlier timeline do not matter here; the term that its host knows does.
  const others = views?.others.filter(({ group = cluster?.group }) => group === cluster?.group);
  const terms = reachableMembers(views?.others ?? []).flatMap(({ term }) => term ?? []);
  const source = cluster?.members.find(({ address }) => address === own.source)?.node;
  const hasRoomAgain = own.open && own.readOnly && (await hasRoom({ spec, paths }));
  const facts: FollowingFacts = {
    own: { ...own, source, hasRoomAgain },
    others,
    terms,
    used,
    errant: await errantOf({ spec, paths, memory }, own, others ?? [], queriedAt),
    stalledMs: stalledMs({ spec, memory }, own, reachableMembers(others ?? [])),
    failedAttempts: countFailedAttempts(memory, own),
  };
  return { own, views, facts };
}

/** By the rule that closed it. */
async function hasRoom({ spec, paths }: Pick<Context, "spec" | "paths">): Promise<boolean> {
  const space = await spaceOf(paths);
  const server = { readOnly: true, groupMember: false };
  return (
    space !== undefined && diskDecision({ planMb: spec.resources.disk_mb, ...space, server }).state !== "read_only"
  );
}

type Remembered = Pick<Context, "spec"> & { memory: FollowingMemory };

async function errantOf(
  { spec: { cluster }, paths, memory }: Remembered & Pick<Context, "paths">,
  own: OwnFollowing,
  others: readonly MemberView[],
  queriedAt: number,
): Promise<string | undefined> {
  const still = stillSince(memory.still, own, performance.now());
  memory.still = still;
  const primary = reachableMembers(others).find((view) => view.node === cluster?.primary?.node);
  if (primary?.gtid === undefined) return undefined;
  const missing = await gtidSubtract(paths.socket, own.gtid, [primary.gtid]);
  return comparedErrant(missing, still, queriedAt - primary.ageMs);
}

export async function observeFollowing(
  context: Context,
): Promise<{ report: GroupReport; decision?: FollowingDecision }> {
  const known = termsOf(context.spec, await usedIds(context.paths));
  const seen = await gatherFollowing(context).catch(() => undefined);
  if (seen === undefined) return { report: { state: "away", online: 0, shared: false, ...known } };
  const decision = decideFollowing(context.spec, seen.facts);
  const saved = decision.kind === "errant" ? await findSavedErrant(context.paths, decision.transactions) : undefined;
  return {
    report: {
      ...placeOf(context.spec, seen, decision),
      ...transactionsOf(context.spec, seen, decision, saved),
      ...known,
    },
    decision,
  };
}

function stalledMs({ spec, memory }: Remembered, own: OwnFollowing, reachable: readonly MemberView[]): number {
  const primary = spec.cluster?.primary;
  const ahead = primary?.node === spec.node && !own.open ? memberAhead(primary, reachable, own) : undefined;
  const now = performance.now();
  memory.fetch = fetchProgress(memory.fetch, ahead, own.gtid, now);
  return memory.fetch === undefined ? 0 : now - memory.fetch.since;
}

/** One failure may be a lock or a full disk; repeated failure of the same transaction means that the data differ. */
const countFailedAttempts = ({ failed }: FollowingMemory, { executed, failure }: OwnFollowing): number =>
  failure !== undefined && failed?.executed === executed ? failed.times : 0;

/** Called before replication is restarted. */
export function noteAttempt(memory: FollowingMemory, own: OwnFollowing): void {
  const times = countFailedAttempts(memory, own) + 1;
  memory.failed = own.failure === undefined ? undefined : { executed: own.executed, times };
}
