import { conditionOf, type ObservedMember } from "./member-condition.ts";

/** The next primary must first apply what it has received, and clients wait as long. */
const MOST_BACKLOG_SECONDS = 5;

export type Switchable = { to: string } | { refused: string };

/** The next primary, or why there is none. Pure. */
export function choosePrimary(members: readonly ObservedMember[]): Switchable {
  const healthy = members.filter((member) => conditionOf(member, { hostSilentSeconds: Infinity }) === "healthy");
  if (healthy.length < 3) return { refused: `${healthy.length} of its 3 nodes are healthy; all must be.` };
  const primary = agreedPrimary(healthy);
  if (primary === undefined) return { refused: "its nodes do not agree yet on who leads. Try again in a moment." };
  const [next] = healthy
    .filter(({ node }) => node !== primary)
    .toSorted((a, b) => backlogOf(a) - backlogOf(b) || a.ordinal - b.ordinal) as [ObservedMember];
  if (backlogOf(next) <= MOST_BACKLOG_SECONDS) return { to: next.node };
  return {
    refused: `the other nodes still have ${Math.ceil(backlogOf(next))} seconds of changes to apply; it must be at most ${MOST_BACKLOG_SECONDS}. Try again later.`,
  };
}

const backlogOf = ({ report }: ObservedMember): number => report?.backlog_seconds ?? 0;

function agreedPrimary(members: readonly ObservedMember[]): string | undefined {
  const named = new Set(members.map(({ report }) => report?.primary));
  return named.size === 1 ? [...named][0] : undefined;
}
