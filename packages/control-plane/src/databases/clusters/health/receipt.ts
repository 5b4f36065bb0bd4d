import { toTimestamp } from "@moorage/contract";
import { countMissing, parseGtidSet } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import type { Selectable } from "kysely";
import type { Tables } from "#platform/db/tables.ts";
import { isSaved, type Judged } from "../member-condition.ts";
import { texts } from "./texts.ts";

/** A primary that stays away for longer is not waited for: its loss is then unknown. */
const WAITED_MS = 600_000;

/** GTID sets grow with the age of a database. */
const SHOWN = 300;

export type ChangeRow = Selectable<Tables["primary_changes"]>;
type Reports = ChangeRow["reports"];

/**
 * Milliseconds from the old primary's last healthy check until a host missed it, another was elected, the first proxy
 * forwarded to it, and the last of the reporting proxies did.
 */
type Phases = { missed: number | null; elected: number | null; led: number | null; all_led: number | null };

/** Null: unknown, for this reason. `saved`: the object that keeps the lost transactions. */
export type Loss = { lost: number; saved?: string } | { lost: null; why: Text };

type Change = Pick<ChangeRow, "view" | "group_id" | "at">;
/** `old`: the former primary, while it is a member. */
type Aftermath = { planned: boolean; timeline: string | null; old: Judged | undefined; now: Date };

type Receipt = Pick<ChangeRow, "reports" | "gtid_before" | "gtid_after"> & {
  from: number;
  to: number;
  planned: boolean;
  loss: Loss;
  /** Where the lost transactions are kept, and how long. */
  saved?: { name: string; expires_at: Date } | undefined;
};

/** The message of the event. */
export function receiptOf({ from, to, planned, reports, gtid_before, gtid_after, loss, saved }: Receipt): Text {
  return (planned ? texts.switchoverReceipt : texts.failoverReceipt)({
    from,
    to,
    phases: phasesOf(reports),
    lost: loss.lost ?? texts.lossUnknown({ why: loss.why.text }).text,
    saved: saved === undefined ? null : { name: saved.name, until: toTimestamp(saved.expires_at) },
    gtidBefore: shorten(gtid_before),
    gtidAfter: shorten(gtid_after),
  });
}

export function phasesOf(reports: Reports): Phases {
  const every = (name: "missed" | "elected" | "led"): number[] =>
    Object.values(reports).flatMap((report) => report[name] ?? []);
  const first = (timings: readonly number[]): number | null => (timings.length === 0 ? null : Math.min(...timings));
  const led = every("led");
  return {
    missed: first(every("missed")),
    elected: first(every("elected")),
    led: first(led),
    all_led: led.length === 0 ? null : Math.max(...led),
  };
}

const shorten = (gtid: string | null): string | null =>
  gtid !== null && gtid.length > SHOWN ? `${gtid.slice(0, SHOWN)}…` : gtid;

/**
 * The loss of a change of primary in an asynchronous cluster: the errant transactions of the former primary. Undefined:
 * not reported yet. Pure. A group loses nothing: a majority has every acknowledged transaction, and what the new
 * primary has yet to apply is not lost.
 */
export function lossOf(change: Change, { planned, timeline, old, now }: Aftermath): Loss | undefined {
  if (planned) return { lost: 0 };
  if (change.group_id !== timeline) return { lost: null, why: texts.lossUnknownRestored() };
  if (old === undefined) return { lost: null, why: texts.lossUnknownReplaced() };
  const isLate = now.getTime() - change.at.getTime() >= WAITED_MS;
  // A report from before the member knew of the change does not count.
  const report = (old.report?.term ?? 0) >= termOf(change.view) ? old.report : null;
  if (report?.errant !== undefined) {
    const lost = countMissing(parseGtidSet(report.errant), new Map());
    if (report.saved_errant !== undefined && isSaved(report, report.errant))
      return { lost, saved: report.saved_errant.name };
    return isLate || old.host.dead ? { lost } : undefined;
  }
  if (report?.state === "online") return { lost: 0 };
  if (old.host.dead) return { lost: null, why: texts.lossUnknownHostGone() };
  if (old.condition === "broken") return { lost: null, why: texts.lossUnknownUnreadable() };
  return isLate ? { lost: null, why: texts.lossUnknownLate() } : undefined;
}

/** The view of an asynchronous cluster ends with its term. */
export const termOf = (view: string): number => Number(view.split(".").at(-1));
