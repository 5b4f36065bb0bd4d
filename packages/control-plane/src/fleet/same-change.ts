import type { PrimaryChange } from "@moorage/contract/agent";

type Known = {
  from_node: string | null;
  to_node: string;
  at: Date;
  /** By the host that told it. */
  reports: Readonly<Record<string, { at: string }>>;
};
type ChangeReport = Pick<PrimaryChange, "from" | "to" | "at"> & { host: string };

/**
 * Which of a group's known changes a host tells of; undefined: a new one. Each host tells a change once, at its own time,
 * however late its gate followed, and its view may be a later one by then. So two tellings are of one change if they lead
 * from the same member to the same, and nobody else led in between.
 */
export function sameChange<Change extends Known>(known: readonly Change[], report: ChangeReport): Change | undefined {
  const alike = known.filter(({ from_node, to_node }) => to_node === report.to && isSameFrom(from_node, report.from));
  return (
    alike.find(({ reports }) => reports[report.host]?.at === report.at) ??
    alike.find((change) => change.reports[report.host] === undefined && !isBetween(known, change, report))
  );
}

/** A gatekeeper that was just started does not know who led before. */
const isSameFrom = (known: string | null, reported: string | undefined): boolean =>
  known === null || reported === undefined || known === reported;

function isBetween(known: readonly Known[], change: Known, report: ChangeReport): boolean {
  const [first, last] = [change.at.getTime(), new Date(report.at).getTime()].toSorted((a, b) => a - b) as [
    number,
    number,
  ];
  return known.some(({ to_node, at }) => to_node !== report.to && at.getTime() > first && at.getTime() < last);
}
