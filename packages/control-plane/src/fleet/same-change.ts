import type { PrimaryChange } from "@moorage/contract/agent";

type Known = {
  from_node: string | null;
  to_node: string;
  at: Date;
  /** By the host that reported it. */
  reports: Readonly<Record<string, { at: string }>>;
};
type ChangeReport = Pick<PrimaryChange, "from" | "to" | "at"> & { host: string };

/**
 * Finds the known change of a group that a host reports; undefined: a new one. Each host reports a change once, at its
 * own time, however late its proxy followed, and its group view may have advanced by then. So two reports describe one
 * change if they go from the same member to the same member and no other member was primary in between.
 */
export function sameChange<Change extends Known>(known: readonly Change[], report: ChangeReport): Change | undefined {
  const alike = known.filter(({ from_node, to_node }) => to_node === report.to && isSameFrom(from_node, report.from));
  return (
    alike.find(({ reports }) => reports[report.host]?.at === report.at) ??
    alike.find((change) => change.reports[report.host] === undefined && !isBetween(known, change, report))
  );
}

/** A gatekeeper that has just started does not know the previous primary. */
const isSameFrom = (known: string | null, reported: string | undefined): boolean =>
  known === null || reported === undefined || known === reported;

function isBetween(known: readonly Known[], change: Known, report: ChangeReport): boolean {
  const [first, last] = [change.at.getTime(), new Date(report.at).getTime()].toSorted((a, b) => a - b) as [
    number,
    number,
  ];
  return known.some(({ to_node, at }) => to_node !== report.to && at.getTime() > first && at.getTime() < last);
}
