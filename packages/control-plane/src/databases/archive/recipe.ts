import { toTimestamp } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";
import { texts } from "./texts.ts";

/** The columns of timelines, complete copies and logs that the rules need. */
export type TimelineInfo = {
  id: string;
  prepared: string | null;
  parent_id: string | null;
  parent_copy_id: string | null;
  parent_until: Date | null;
  created_at: Date;
  archived_through: Date;
  last_log: number;
  /** Logs may be missing after the last one that is known. */
  gap_allowed?: boolean;
  gap_from?: Date | null;
  gap_at?: Date | null;
};
/**
 * A copy contains everything that was committed before `started_at`, and nothing from after `ended_at`. `first_log` is
 * the first log that may contain what the copy lacks.
 */
export type CopyInfo = { id: string; timeline_id: string; started_at: Date; ended_at: Date; first_log: number };
export type LogInfo = { timeline_id: string; sequence: number; closed_at: Date };

/** A timeline with all its ancestors, without objects marked for deletion. Logs are in order. */
export type History<C extends CopyInfo = CopyInfo, L extends LogInfo = LogInfo> = {
  timelines: readonly TimelineInfo[];
  copies: readonly C[];
  logs: readonly L[];
};

/** A time on a timeline (a time before its start means its start), or exactly the contents of a copy. */
export type Target = { timeline: string } & ({ until: Date } | { copy: string });

export type RestorePlan<C extends CopyInfo = CopyInfo, L extends LogInfo = LogInfo> = {
  base: { kind: "prepared"; sha256: string } | { kind: "copy"; copy: C };
  /** In the order in which they are applied. MySQL skips transactions that it has already, by their GTIDs. */
  logs: { log: L; before?: Date }[];
};

export type RestorableRange = { oldest: Date; newest: Date };

export class NotRestorable extends DomainError {
  override readonly name = "NotRestorable";
  readonly ranges: readonly RestorableRange[];
  constructor(ranges: readonly RestorableRange[]) {
    const shown = ranges.map(({ oldest, newest }) => ({
      oldest: toTimestamp(nextSecond(oldest)),
      newest: toTimestamp(newest),
    }));
    super("invalid", {
      reason: shown.length === 0 ? texts.nothingRestorable() : texts.restorableTimes({ ranges: shown }),
    });
    this.ranges = ranges;
  }
}

/** How to restore a state. Throws if anything on the way to it is missing: a gap is never skipped. */
export function planRestore<C extends CopyInfo, L extends LogInfo>(
  history: History<C, L>,
  target: Target,
): RestorePlan<C, L> {
  const plan = "copy" in target ? fromCopy(history, target) : toTime(history, target.timeline, target.until);
  if (plan === undefined) throw new NotRestorable(restorableRanges(history, target.timeline));
  return plan;
}

/** The times before and after the last gap. */
export function restorableRanges(history: History, timelineId: string): RestorableRange[] {
  const before = beforeTheHole(history, timelineId);
  return [...(before === history ? [] : [before]), history].flatMap((each) => restorableRange(each, timelineId) ?? []);
}

/** The history up to the last log before the last gap. */
function beforeTheHole(history: History, timelineId: string): History {
  const timeline = timelineOf(history, timelineId);
  if (timeline !== undefined && isBeyondGap(timeline, timeline.archived_through))
    return {
      ...history,
      timelines: history.timelines.map((each) =>
        each === timeline
          ? { ...each, archived_through: timeline.gap_from ?? each.archived_through, gap_allowed: false }
          : each,
      ),
    };
  const logs = history.logs.filter(({ timeline_id }) => timeline_id === timelineId);
  const isBeforeHole = ({ sequence }: LogInfo, n: number): boolean =>
    (logs[n + 1]?.sequence ?? (timelineOf(history, timelineId)?.last_log ?? 0) + 1) !== sequence + 1;
  const last = logs.findLast(isBeforeHole);
  if (last === undefined) return history;
  const { sequence, closed_at } = last;
  const isThere = ({ timeline_id }: { timeline_id: string }, first: number): boolean =>
    timeline_id !== timelineId || first <= sequence + 1;
  return {
    timelines: history.timelines.map((each) =>
      each.id === timelineId ? { ...each, last_log: sequence, archived_through: closed_at } : each,
    ),
    copies: history.copies.filter((copy) => isThere(copy, copy.first_log)),
    logs: history.logs.filter((log) => isThere(log, log.sequence + 1)),
  };
}

/** Every time from `oldest` to `newest` can be restored. Undefined: none can. */
export function restorableRange(history: History, timelineId: string): RestorableRange | undefined {
  const timeline = timelineOf(history, timelineId);
  if (timeline === undefined) return undefined;
  const logs = history.logs.filter(({ timeline_id }) => timeline_id === timelineId);
  const newest = latest([timeline.archived_through, ...logs.map(({ closed_at }) => closed_at)]);
  const beginnings = history.copies
    .filter(({ timeline_id, ended_at }) => timeline_id === timelineId && ended_at <= newest)
    .map(({ ended_at }) => ended_at)
    .sort((a, b) => a.getTime() - b.getTime());
  const oldest = [timeline.created_at, ...beginnings].find(
    (at) =>
      toTime(history, timelineId, at) !== undefined &&
      isUnbroken(logs.slice(firstSince(logs, at)), timeline.last_log) &&
      hasEverything(timeline, copyBefore(history.copies, timelineId, at), newest),
  );
  return oldest === undefined ? undefined : { oldest, newest };
}

function fromCopy<C extends CopyInfo, L extends LogInfo>(
  { copies }: History<C, L>,
  target: { timeline: string; copy: string },
): RestorePlan<C, L> | undefined {
  const copy = copies.find(({ id, timeline_id }) => id === target.copy && timeline_id === target.timeline);
  return copy === undefined ? undefined : { base: { kind: "copy", copy }, logs: [] };
}

function toTime<C extends CopyInfo, L extends LogInfo>(
  history: History<C, L>,
  timelineId: string,
  until: Date,
): RestorePlan<C, L> | undefined {
  const timeline = timelineOf(history, timelineId);
  if (timeline === undefined) return undefined;
  const logs = history.logs.filter(({ timeline_id }) => timeline_id === timelineId);
  const copy = copyBefore(history.copies, timelineId, until);
  const since = copy === undefined ? 0 : goesOnWith(logs, copy);
  const reaches = logs.findIndex(({ closed_at }, n) => n >= since && closed_at >= until);
  const taken = logs.slice(since, reaches === -1 ? logs.length : reaches + 1);

  if (reaches === -1 && timeline.archived_through < until) return undefined;
  if (reaches === -1 && !hasEverything(timeline, copy, until)) return undefined;
  if (!isUnbroken(taken, reaches === -1 ? timeline.last_log : undefined)) return undefined;
  // The last log from which nothing is missing. Snapshots outlive the logs after them, so a gap there must be noticed.
  const passed = Math.max(logs[since - 1]?.sequence ?? 0, (copy?.first_log ?? 1) - 1);
  if ((taken[0]?.sequence ?? timeline.last_log + 1) !== passed + 1) return undefined;
  const begun: RestorePlan<C, L> | undefined =
    copy === undefined ? beginning(history, timeline) : { base: { kind: "copy", copy }, logs: [] };
  if (begun === undefined) return undefined;
  const steps = taken.map((log, n) => (reaches === since + n ? { log, before: until } : { log }));
  return { base: begun.base, logs: [...begun.logs, ...steps] };
}

/** A gap was allowed, and no log shows yet whether there is one. */
const isBeyondGap = ({ gap_allowed, gap_from }: TimelineInfo, until: Date): boolean =>
  gap_allowed === true && (gap_from ?? until) < until;

/** Only a copy from after the gap has what may be missing in it. */
const hasEverything = (timeline: TimelineInfo, copy: CopyInfo | undefined, until: Date): boolean =>
  !isBeyondGap(timeline, until) || (copy !== undefined && copy.started_at >= (timeline.gap_at ?? until));

/** The copy that a restore to a time starts from. Of overlapping copies the later one needs fewer logs. */
export const copyBefore = <C extends Pick<CopyInfo, "timeline_id" | "started_at" | "ended_at">>(
  copies: readonly C[],
  timelineId: string,
  until: Date,
): C | undefined =>
  copies
    .filter(({ timeline_id, ended_at }) => timeline_id === timelineId && ended_at <= until)
    .reduce<C | undefined>((last, each) => (last && last.started_at >= each.started_at ? last : each), undefined);

/** The copy contains the logs that were closed before it started. */
function goesOnWith(logs: readonly LogInfo[], { first_log, started_at }: CopyInfo): number {
  const first = logs.findIndex(({ sequence, closed_at }) => sequence >= first_log && closed_at >= started_at);
  return first === -1 ? logs.length : first;
}

/** What a timeline started from: nothing of its parent after the point where it branched off. */
function beginning<C extends CopyInfo, L extends LogInfo>(
  history: History<C, L>,
  { prepared, parent_id, parent_copy_id, parent_until }: TimelineInfo,
): RestorePlan<C, L> | undefined {
  if (prepared !== null) return { base: { kind: "prepared", sha256: prepared }, logs: [] };
  if (parent_id === null) return undefined;
  if (parent_copy_id !== null) return fromCopy(history, { timeline: parent_id, copy: parent_copy_id });
  return parent_until === null ? undefined : toTime(history, parent_id, parent_until);
}

const timelineOf = ({ timelines }: History, timelineId: string): TimelineInfo | undefined =>
  timelines.find(({ id }) => id === timelineId);

function firstSince(logs: readonly LogInfo[], at: Date): number {
  const first = logs.findIndex(({ closed_at }) => closed_at >= at);
  return first === -1 ? logs.length : first;
}

/** The log numbers are consecutive; with `last`, they also reach the last log ever archived. */
const isUnbroken = (logs: readonly LogInfo[], last?: number): boolean =>
  logs.every(({ sequence }, n) => n === 0 || sequence === (logs[n - 1]?.sequence ?? 0) + 1) &&
  (last === undefined || logs.length === 0 || logs.at(-1)?.sequence === last);

const latest = (times: readonly Date[]): Date => new Date(Math.max(...times.map((each) => each.getTime())));

/** Shown times have whole seconds; rounding up keeps them inside the restorable range. */
const nextSecond = (at: Date): Date => new Date(Math.ceil(at.getTime() / 1000) * 1000);
