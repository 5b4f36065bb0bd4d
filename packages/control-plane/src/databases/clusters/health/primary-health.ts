import type { PrimaryTerm } from "@moorage/contract/agent";
import { chooseSuccessor } from "./choose-successor.ts";
import { isReachable, type Judged } from "./member-condition.ts";

/** Of an asynchronous cluster: whose writes it takes, and what the archive of its timeline has. */
export type ObservedPrimary = { primary: PrimaryTerm | undefined; archived: string };

export type NextOfPrimary =
  | { do: "wait" }
  /** Another leads, or the same one in a new term. */
  | { do: "promote"; node: string; ordinal: number; reason: "fenced" | "forced" }
  /** Those that are left lack what the archive has. */
  | { do: "restore" }
  /** Only a person can say what is lost. */
  | { do: "ask" };

/**
 * What follows for the leader: nobody takes its place while it may be alive and writing, unless a person said so. Undefined:
 * nothing is to be done about it. Pure.
 */
export function nextOfPrimary(
  { primary, archived }: ObservedPrimary,
  members: readonly Judged[],
): NextOfPrimary | undefined {
  const own = members.find(({ node }) => node === primary?.node);
  if (primary === undefined || own === undefined) return { do: "wait" };
  const others = members.filter((member) => member !== own);
  // Only of a leader that serves, whatever we hear of it, can another be a follower that is well.
  const isFollowed = others.some(({ condition }) => condition === "healthy");
  const isFenced = (own.report?.fenced ?? 0) >= primary.term;
  if (isFenced) return succeed(own, members, archived, "fenced");
  if (isFollowed) return undefined;
  if (own.host.dead || own.condition === "broken") return succeed(own, members, archived, "forced");
  if (own.condition === "lost") return { do: "ask" };
  // It waits for another who knows that it leads.
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
  // Its host has the data, and nobody else is there to lead.
  return reason === "fenced" && isReachable(own.host)
    ? { do: "promote", reason, node: own.node, ordinal: own.ordinal }
    : { do: "ask" };
}
