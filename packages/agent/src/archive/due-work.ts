import type { NodeSpec } from "@moorage/contract/agent";

/** What the schedule needs to know of an archived node. */
export type CopyFacts = {
  node: string;
  hours: NonNullable<NodeSpec["archive"]>["copy_hours"];
  origin: NonNullable<NodeSpec["data"]>["origin"];
  /** When the host began to archive the timeline. */
  since: Date;
  newestCopy?: Date;
  /** Earliest retry after a failure. */
  notBefore?: Date;
  /** A verification of the newest restore point is due. */
  verify?: boolean;
};
export type Work = { kind: "copy" | "verify"; node: string };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A copy younger than this at its slot is recent enough: it made up for a missed one. */
const youngMs = 20 * hourMs;

/**
 * The heavy work that is due on a host, most urgent first; the host runs it one at a time. Every node has one slot a
 * day, spread evenly over its copy hours. A slot that passed without a copy stays due until there is one, so an outage
 * of any length skips no copy and causes no second one.
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
  // A database created from the prepared data directory has that as its first base; others have none yet.
  return origin !== "prepared" || since <= slot;
}

const urgency = ({ newestCopy, origin, since }: CopyFacts): number =>
  newestCopy === undefined && origin !== "prepared" ? 0 : (newestCopy ?? since).getTime();

/** Each node's last slot that is not after `now`. */
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
