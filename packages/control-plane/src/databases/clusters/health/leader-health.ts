import type { Leader } from "@moorage/contract/agent";
import { chooseSuccessor } from "./choose-successor.ts";
import { isHeard, type Judged } from "./member-condition.ts";

/** Of an asynchronous cluster: whose writes it takes, and what the archive of its timeline has. */
export type AsynchSeen = { leader: Leader | undefined; archived: string };

export type NextOfLeader =
  | { do: "wait" }
  /** Another leads, or the same one in a new term. */
  | { do: "promote"; node: string; ordinal: number; over: "fence" | "word" }
  /** Those that are left lack what the archive has. */
  | { do: "restore" }
  /** Only a person can say what is lost. */
  | { do: "ask" };

/**
 * What follows for the leader: nobody takes its place while it may be alive and writing, unless a person said so. Undefined:
 * nothing is to be done about it. Pure.
 */
export function nextOfLeader({ leader, archived }: AsynchSeen, members: readonly Judged[]): NextOfLeader | undefined {
  const own = members.find(({ node }) => node === leader?.node);
  if (leader === undefined || own === undefined) return { do: "wait" };
  const others = members.filter((member) => member !== own);
  // Only of a leader that serves, whatever we hear of it, can another be a follower that is well.
  const isFollowed = others.some(({ condition }) => condition === "healthy");
  const isFenced = (own.report?.fenced ?? 0) >= leader.term;
  if (isFenced) return succeed(own, members, archived, "fence");
  if (isFollowed) return undefined;
  if (own.host.dead || own.condition === "broken") return succeed(own, members, archived, "word");
  if (own.condition === "lost") return { do: "ask" };
  // It waits for another who knows that it leads.
  if (leader.over !== "alone" && others.every(({ condition }) => condition === "lost")) return { do: "ask" };
  return undefined;
}

function succeed(own: Judged, members: readonly Judged[], archived: string, over: "fence" | "word"): NextOfLeader {
  const next = chooseSuccessor(members, own.node, archived);
  if (next === "wait" || next === "restore") return { do: next };
  if (next !== "again") return { do: "promote", over, ...next };
  // Its host has the data, and nobody else is there to lead.
  return over === "fence" && isHeard(own.host)
    ? { do: "promote", over, node: own.node, ordinal: own.ordinal }
    : { do: "ask" };
}
