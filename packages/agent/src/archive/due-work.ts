import type { NodeSpec } from "@moorage/contract/agent";

/** What the host knows of a node whose past it keeps. */
export type CopyFacts = {
  node: string;
  hours: NonNullable<NodeSpec["archive"]>["copy_hours"];
  origin: NonNullable<NodeSpec["data"]>["origin"];
  /** When the host began with the timeline. */
  since: Date;
  newestCopy?: Date;
  /** After a failure: not again before this. */
  notBefore?: Date;
  /** A restore of its newest point is to be tried. */
  verify?: boolean;
};
export type Work = { kind: "copy" | "verify"; node: string };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** At its slot, a copy younger than this is young enough: it made up for one that was missed. */
const youngMs = 20 * hourMs;

/**
 * The heavy work that a host should do now, the most urgent first; it does one after the other. Every node has a slot a
 * day, evenly over the hours of its copies. A slot that passed without a copy stays due until there is one, so nothing is
 * missed over an outage, however long, and nothing is done twice after it.
 */
export function dueWork(now: Date, facts: readonly CopyFacts[]): Work[] {
  const ready = facts.filter(({ notBefore }) => notBefore === undefined || notBefore <= now);
  const slots = lastSlots(now, facts);
  const copies = ready
    .filter((each) => copyIsDue(each, slots.get(each.node) ?? now))
    .sort((a, b) => urgency(a) - urgency(b) || compare(a.node, b.node));
  const verifications = ready.filter(({ verify }) => verify);
  return [
    ...copies.map(({ node }) => ({ kind: "copy", node }) as const),
    ...verifications.map(({ node }) => ({ kind: "verify", node }) as const),
  ];
}

function copyIsDue({ origin, since, newestCopy }: CopyFacts, slot: Date): boolean {
  if (newestCopy !== undefined) return newestCopy.getTime() <= slot.getTime() - youngMs;
  // The prepared directory is the first base of a database that was made from it; others have none yet.
  return origin !== "prepared" || since <= slot;
}

const urgency = ({ newestCopy, origin, since }: CopyFacts): number =>
  newestCopy === undefined && origin !== "prepared" ? 0 : (newestCopy ?? since).getTime();

/** Of each node the last slot that is not after `now`. */
function lastSlots(now: Date, facts: readonly CopyFacts[]): Map<string, Date> {
  const groups = Map.groupBy(facts, ({ hours }) => `${hours.from}-${hours.to}`);
  return new Map(
    [...groups.values()].flatMap((group) => {
      const ordered = group.toSorted((a, b) => compare(a.node, b.node));
      return ordered.map(({ node, hours }, rank) => [node, lastSlot(now, hours, rank / ordered.length)] as const);
    }),
  );
}

function lastSlot(now: Date, { from, to }: CopyFacts["hours"], share: number): Date {
  const spanMs = ((to - from + 24) % 24 || 24) * hourMs;
  const today = Math.floor(now.getTime() / dayMs) * dayMs + from * hourMs + share * spanMs;
  const daysAhead = Math.ceil((today - now.getTime()) / dayMs);
  return new Date(today - Math.max(0, daysAhead) * dayMs);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
