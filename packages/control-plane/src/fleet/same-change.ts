import type { PrimaryChange } from "@moorage/contract/agent";

type Known = {
  from_node: string | null;
  to_node: string;
  at: Date;
  /** By the host that told it. */
  told: Readonly<Record<string, { at: string }>>;
};
type Telling = Pick<PrimaryChange, "from" | "to" | "at"> & { host: string };

/**
 * Which of a group's known changes a host tells of; undefined: a new one. Each host tells a change once, at its own time,
 * however late its gate followed, and its view may be a later one by then. So two tellings are of one change if they lead
 * from the same member to the same, and nobody else led in between.
 */
export function sameChange<Change extends Known>(known: readonly Change[], telling: Telling): Change | undefined {
  const alike = known.filter(({ from_node, to_node }) => to_node === telling.to && isSameFrom(from_node, telling.from));
  return (
    alike.find(({ told }) => told[telling.host]?.at === telling.at) ??
    alike.find((change) => change.told[telling.host] === undefined && !isBetween(known, change, telling))
  );
}

/** A gatekeeper that was just started does not know who led before. */
const isSameFrom = (known: string | null, told: string | undefined): boolean =>
  known === null || told === undefined || known === told;

function isBetween(known: readonly Known[], change: Known, telling: Telling): boolean {
  const [first, last] = [change.at.getTime(), new Date(telling.at).getTime()].toSorted((a, b) => a - b) as [
    number,
    number,
  ];
  return known.some(({ to_node, at }) => to_node !== telling.to && at.getTime() > first && at.getTime() < last);
}
