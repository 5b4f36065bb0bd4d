import { agreedPrimary } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { texts } from "../texts.ts";
import { conditionOf, type ObservedMember } from "./member-condition.ts";

/** The next primary must first apply what it has received, and clients wait as long. */
const MOST_BACKLOG_SECONDS = 5;

export type Switchable = { to: string } | { refused: Text };

/** The next primary, or why there is none. Pure. */
export function choosePrimary(members: readonly ObservedMember[]): Switchable {
  const healthy = members.filter((member) => conditionOf(member, { hostSilentSeconds: Infinity }) === "healthy");
  if (healthy.length < 3) return { refused: texts.nodesUnhealthy({ healthy: healthy.length }) };
  const primary = agreedPrimary(healthy);
  if (primary === undefined) return { refused: texts.noAgreedPrimary() };
  const [next] = healthy
    .filter(({ node }) => node !== primary)
    .toSorted((a, b) => backlogOf(a) - backlogOf(b) || a.ordinal - b.ordinal) as [ObservedMember];
  if (backlogOf(next) <= MOST_BACKLOG_SECONDS) return { to: next.node };
  return { refused: texts.replicasBehind({ seconds: Math.ceil(backlogOf(next)), most: MOST_BACKLOG_SECONDS }) };
}

const backlogOf = ({ report }: ObservedMember): number => report?.backlog_seconds ?? 0;
