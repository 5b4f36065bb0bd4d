import type { PrimaryTerm } from "@moorage/contract/agent";
import { chooseSuccessor, type Successor } from "./choose-successor.ts";
import { isReachable, isSeen, type Judged } from "../member-condition.ts";

/** The primary of an asynchronous cluster, and the GTID set of its timeline's archive. */
export type ObservedPrimary = {
  primary: PrimaryTerm | undefined;
  archived: string;
  /** Since the term began. */
  termSeconds: number;
};

/** A tenant accepts the loss of the moment. A promotion that is not carried out by then must be requested again. */
const CONSENT_SECONDS = 120;

export type NextOfPrimary =
  | { do: "wait" }
  /** Another member becomes primary, or the same one in a new term. */
  | { do: "promote"; node: string; ordinal: number; reason: "fenced" | "forced" | "sole_survivor" }
  /** The promotion that a tenant requested was not carried out: the previous primary returns, by a handover. */
  | { do: "withdraw"; node: string }
  /** The remaining members lack transactions that the archive has. */
  | { do: "restore" }
  /** Only a person can accept the loss. */
  | { do: "ask" };

/**
 * The next action for the primary. It has no successor while it may be alive and writing, unless a person decided so.
 * Undefined: there is nothing to do. Pure.
 */
export function nextOfPrimary(
  { primary, archived, termSeconds }: ObservedPrimary,
  members: readonly Judged[],
): NextOfPrimary | undefined {
  const own = members.find(({ node }) => node === primary?.node);
  if (primary === undefined || own === undefined) return { do: "wait" };
  const others = members.filter((member) => member !== own);
  // A replica is healthy only while the primary serves, even if we cannot reach the primary.
  const isFollowed = others.some(({ condition }) => condition === "healthy");
  const isFenced = (own.report?.fenced ?? 0) >= primary.term;
  const of = { archived, term: primary.term };
  if (isFenced) return succeed(own, members, of, "fenced");
  if (isFollowed) return undefined;
  if (termSeconds >= CONSENT_SECONDS && isRequested(primary, others) && isNotOpen(own))
    return { do: "withdraw", node: primary.from };
  if (own.host.dead || own.condition === "broken") return succeed(own, members, of, "forced");
  if (own.condition === "lost") return { do: "ask" };
  // The primary waits for another member that confirms its term.
  if (primary.reason !== "sole_survivor" && others.every(({ condition }) => condition === "lost")) return { do: "ask" };
  return undefined;
}

/** By a tenant, while the previous primary was unreachable. */
const isRequested = (primary: PrimaryTerm, others: readonly Judged[]): primary is PrimaryTerm & { from: string } =>
  primary.reason === "forced" && others.some(({ node }) => node === primary.from);

/** By its own report. It may open late: the previous primary takes its transactions before it opens. */
const isNotOpen = ({ host, report }: Judged): boolean =>
  isReachable(host) && report !== null && report.role !== "primary";

/** A fenced primary has every transaction that it acknowledged, for as long as its data are usable. */
export const hasData = ({ host, state, report }: Judged): boolean =>
  isReachable(host) && isSeen(host) && state !== "failed" && report?.unusable === undefined;

/**
 * A member that never followed the primary in its term has none of the term's writes, and may have what was reported as
 * lost. Unknown while an agent of an earlier version is among the members.
 */
const hasFollowed = (next: Successor, term: number): boolean =>
  typeof next !== "string" && (next.lastTerm === 0 || next.lastTerm >= term);

function succeed(
  own: Judged,
  members: readonly Judged[],
  { archived, term }: { archived: string; term: number },
  reason: "fenced" | "forced",
): NextOfPrimary {
  const next = chooseSuccessor(members, own.node, archived);
  if (next === "wait") return { do: next };
  const isAgain = reason === "fenced" && hasData(own) && !hasFollowed(next, term);
  if (typeof next !== "string" && !isAgain) {
    const { node, ordinal, lacks } = next;
    return lacks === 0 ? { do: "promote", reason, node, ordinal } : { do: "ask" };
  }
  // Its host has the data, and no other member can become primary, or none without a loss.
  if (isAgain) return { do: "promote", reason, node: own.node, ordinal: own.ordinal };
  return { do: next === "restore" ? next : "ask" };
}
