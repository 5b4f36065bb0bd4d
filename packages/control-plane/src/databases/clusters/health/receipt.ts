import { countMissing, parseGtidSet } from "@moorage/contract/agent";
import type { Selectable } from "kysely";
import type { Tables } from "#platform/db/tables.ts";

export type ChangeRow = Selectable<Tables["primary_changes"]>;
type Told = ChangeRow["told"];

/**
 * From when the old one was last seen well: until a host missed it, another was elected, the first gate led there, and
 * the last one of those that have told.
 */
export type Phases = { missed: number | null; elected: number | null; led: number | null; all_led: number | null };

export function phasesOf(told: Told): Phases {
  const every = (name: "missed" | "elected" | "led"): number[] =>
    Object.values(told).flatMap((telling) => telling[name] ?? []);
  const first = (figures: readonly number[]): number | null => (figures.length === 0 ? null : Math.min(...figures));
  const led = every("led");
  return {
    ...{ missed: first(every("missed")), elected: first(every("elected")), led: first(led) },
    all_led: led.length === 0 ? null : Math.max(...led),
  };
}

/**
 * How many transactions the new primary does not have. With `semi_synch` there are none: nothing is acknowledged that a
 * majority does not hold, and what the new one has yet to apply is not lost. Null: it is not known.
 */
export function lostBetween(
  replication: string,
  { gtid_before, gtid_after }: Pick<ChangeRow, "gtid_before" | "gtid_after">,
): number | null {
  if (replication === "semi_synch") return 0;
  if (gtid_before === null || gtid_after === null) return null;
  return countMissing(parseGtidSet(gtid_before), parseGtidSet(gtid_after));
}

/** A set may be as long as a database is old. */
const SHOWN = 300;
const shorten = (gtid: string): string => (gtid.length > SHOWN ? `${gtid.slice(0, SHOWN)}…` : gtid);

type Receipt = Pick<ChangeRow, "told" | "gtid_before" | "gtid_after" | "lost"> & {
  from: number;
  to: number;
  planned: boolean;
};

/** The sentences of the event. */
export function receiptOf({ from, to, planned, told, gtid_before, gtid_after, lost }: Receipt): string {
  const { missed, elected, led, all_led } = phasesOf(told);
  const figures = [
    ...(missed === null ? [] : [`${missed} ms until it was missed`]),
    ...(elected === null ? [] : [`${elected} ms until another was elected`]),
    ...(led === null ? [] : [`${led} ms until clients were led there`]),
    ...(all_led === null || all_led === led ? [] : [`${all_led} ms until all gates did`]),
  ];
  const sets = [
    ...(gtid_before === null ? [] : [`GTID before: ${shorten(gtid_before)}.`]),
    ...(gtid_after === null ? [] : [`GTID after: ${shorten(gtid_after)}.`]),
  ];
  return [
    `Node ${to} leads in place of node ${from}${planned ? ", as was asked for" : ""}.`,
    ...(figures.length === 0 ? [] : [`From when node ${from} was last seen well: ${figures.join(", ")}.`]),
    `Transactions lost: ${lost ?? "not known"}.`,
    ...sets,
  ].join(" ");
}
