import { GRACE_DAYS, RESTORE_DAYS } from "../model/restore-window.ts";
import { copyBefore } from "../archive/recipe.ts";
import type { TimelineRow } from "../model/timeline-store.ts";
import type { BackupRow, CopyRow } from "./backup-store.ts";

/** Retention: which rows of a database's history are still needed. Pure. */

export type Timeline = Pick<
  TimelineRow,
  "id" | "parent_id" | "parent_copy_id" | "parent_until" | "created_at" | "ended_at"
>;
export type Copy = Pick<CopyRow, "id" | "timeline_id" | "started_at" | "ended_at" | "first_log">;
export type Backup = Pick<BackupRow, "id" | "type" | "timeline_id" | "copy_id" | "point_at" | "verified_at">;

/** Timelines with all their ancestors and descendants: also other databases', if they are forks. */
export type Family = {
  timelines: readonly Timeline[];
  copies: readonly Copy[];
  backups: readonly Backup[];
};

/** Logs of a timeline: from number `first` to the one that contains the commits before `until`, or to the end. */
export type LogRange = { timeline: string; first: number; until: Date | undefined };
export type Needs = { copies: ReadonlySet<string>; logs: readonly LogRange[] };

const DAY_MS = 86_400_000;

export const windowStart = (now: Date): Date => new Date(now.getTime() - (RESTORE_DAYS + GRACE_DAYS) * DAY_MS);

/**
 * For one database. Snapshots never expire; their tenant deletes them. The newest `dailyKept` daily backups stay. If
 * the last verified one is older, it takes the place of the oldest of them.
 */
export function expiredBackups(backups: readonly Backup[], dailyKept: number): number[] {
  const daily = backups
    .filter(({ type }) => type === "auto")
    .toSorted((a, b) => b.point_at.getTime() - a.point_at.getTime());
  const verified = daily.find(({ verified_at }) => verified_at !== null);
  const others = daily.filter((backup) => backup !== verified);
  return others.slice(verified === undefined ? dailyKept : dailyKept - 1).map(({ id }) => id);
}

/** Every object that a restore to one of the backups, or to a time in the window, reads. */
export function needsOf(family: Family, now: Date): Needs {
  const copies = new Set<string>();
  const logs: LogRange[] = [];
  const timelines = new Map(family.timelines.map((timeline) => [timeline.id, timeline]));

  /**
   * The path of a restore: from the copy before the time, else from the start of the timeline. Returns its first log.
   */
  const reach = (timeline: Timeline, until: Date): number => {
    const base = copyBefore(family.copies, timeline.id, until);
    const first = base?.first_log ?? 1;
    logs.push({ timeline: timeline.id, first, until });
    if (base === undefined) reachBeginning(timeline);
    else copies.add(base.id);
    return first;
  };
  const reachBeginning = ({ parent_id, parent_copy_id, parent_until }: Timeline): void => {
    const parent = parent_id === null ? undefined : timelines.get(parent_id);
    if (parent_copy_id !== null) copies.add(parent_copy_id);
    else if (parent !== undefined && parent_until !== null) reach(parent, parent_until);
  };

  for (const { timeline_id, copy_id, point_at } of family.backups) {
    const timeline = timelines.get(timeline_id);
    if (copy_id !== null) copies.add(copy_id);
    else if (timeline !== undefined) reach(timeline, point_at);
  }
  const start = windowStart(now);
  for (const timeline of family.timelines.filter((each) => wasLivedOnSince(each, start))) {
    const from = timeline.created_at > start ? timeline.created_at : start;
    const later = family.copies.filter(({ timeline_id, ended_at }) => timeline_id === timeline.id && ended_at > from);
    const first = Math.min(reach(timeline, from), ...later.map(({ first_log }) => first_log));
    logs.push({ timeline: timeline.id, first, until: undefined });
    for (const { id } of later) copies.add(id);
  }
  return { copies, logs };
}

/** A timeline that ended when it started was never in use: its restore failed. */
const wasLivedOnSince = ({ created_at, ended_at }: Timeline, start: Date): boolean =>
  ended_at === null || (ended_at >= start && ended_at > created_at);

/** Of a timeline's logs, in order: those in no range. */
export function unneededLogs<Log extends { sequence: number; closed_at: Date }>(
  logs: readonly Log[],
  ranges: readonly LogRange[],
): Log[] {
  return logs.filter((log, index) => {
    const previous = logs[index - 1]?.closed_at;
    return !ranges.some(
      ({ first, until }) =>
        log.sequence >= first &&
        // The first log that was closed after a time contains the commits just before it.
        (until === undefined || previous === undefined || previous < until),
    );
  });
}
