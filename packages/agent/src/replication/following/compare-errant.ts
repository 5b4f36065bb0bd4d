import type { FollowingFacts } from "./decide-following.ts";

type Own = Pick<FollowingFacts["own"], "open" | "receiving" | "isApplied" | "gtid">;

/** A member's transactions, and since when they have not grown. */
export type Still = { gtid: string; since: number };

/** A server sends a transaction a moment before it adds it to gtid_executed. */
const sentBeforeMs = 1000;

/** Undefined while the member may still receive or apply something. */
export function stillSince(before: Still | undefined, own: Own, now: number): Still | undefined {
  if (own.open || own.receiving !== "off" || !own.isApplied) return undefined;
  return before?.gtid === own.gtid ? before : { gtid: own.gtid, since: now };
}

/**
 * Compares with what the primary reported after this server stopped growing: a transaction that it sent a moment ago is
 * not yet in an older report. If the older report has everything already, no newer one is needed. `missing`: what the
 * report of `reportedAt` lacks.
 */
export function comparedErrant(missing: string, still: Still | undefined, reportedAt: number): string | undefined {
  const isNewer = still !== undefined && reportedAt > still.since + sentBeforeMs;
  return missing === "" || isNewer ? missing : undefined;
}
