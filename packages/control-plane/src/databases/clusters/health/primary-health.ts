import type { PrimaryTerm } from "@moorage/contract/agent";
import { chooseSuccessor } from "./choose-successor.ts";
import { isReachable, type Judged } from "./member-condition.ts";

/** The primary of an asynchronous cluster, and the GTID set of its timeline's archive. */
export type ObservedPrimary = { primary: PrimaryTerm | undefined; archived: string };

export type NextOfPrimary =
  | { do: "wait" }
  /** Another member becomes primary, or the same one in a new term. */
  | { do: "promote"; node: string; ordinal: number; reason: "fenced" | "forced" }
  /** The remaining members lack transactions that the archive has. */
  | { do: "restore" }
  /** Only a person can accept the loss. */
  | { do: "ask" };

/**
 * The next action for the primary. It has no successor while it may be alive and writing, unless a person decided so.
 * Undefined: there is nothing to do. Pure.
 */
export function nextOfPrimary(
  { primary, archived }: ObservedPrimary,
  members: readonly Judged[],
): NextOfPrimary | undefined {
  const own = members.find(({ node }) => node === primary?.node);
  if (primary === undefined || own === undefined) return { do: "wait" };
  const others = members.filter((member) => member !== own);
  // A replica is healthy only while the primary serves, even if we cannot reach the primary.
  const isFollowed = others.some(({ condition }) => condition === "healthy");
  const isFenced = (own.report?.fenced ?? 0) >= primary.term;
  if (isFenced) return succeed(own, members, archived, "fenced");
  if (isFollowed) return undefined;
  if (own.host.dead || own.condition === "broken") return succeed(own, members, archived, "forced");
  if (own.condition === "lost") return { do: "ask" };
  // The primary waits for another member that confirms its term.
  if (primary.reason !== "sole_survivor" && others.every(({ condition }) => condition === "lost")) return { do: "ask" };
  return undefined;
}

function succeed(
  own: Judged,
  members: readonly Judged[],
  archived: string,
  reason: "fenced" | "forced",
): NextOfPrimary {
  const next = chooseSuccessor(members, own.node, archived);
  if (next === "wait" || next === "restore") return { do: next };
  if (next !== "again") return { do: "promote", reason, ...next };
  // Its host has the data, and no other member can become primary.
  return reason === "fenced" && isReachable(own.host)
    ? { do: "promote", reason, node: own.node, ordinal: own.ordinal }
    : { do: "ask" };
}
