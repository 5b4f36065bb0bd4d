import { isDeepStrictEqual } from "node:util";
import { type DiskState, type GroupReport, isNewer, type NodeReport, type TaskReport } from "@moorage/contract/agent";

/** A change of size that is large enough for a tenant to notice. */
const noticedMb = 64;

export type Disk = { used_disk_mb: number; disk: DiskState };

/** The parts of a node's report. They are set separately: a new state of the node does not drop the others. */
export type KnownNode = { state?: NodeReport; disk?: Disk; tasks?: TaskReport[]; group?: GroupReport };

/** A node after a change, and when to report it: at once, with the next heartbeat, or not at all. */
export type Change = { known: KnownNode; report: "now" | "soon" | "not" };

/** Undefined while the node has no state. */
export const reportOf = ({ state, tasks, group }: KnownNode): NodeReport | undefined =>
  state && { ...state, ...(tasks && { tasks }), ...(group && { group }) };

/** Progress waits for the next heartbeat; a final state is reported at once. An older state is ignored. */
export function withState({ disk, group, ...known }: KnownNode, report: NodeReport): Change {
  // What is gone has neither disk nor group.
  const kept: KnownNode =
    report.state === "gone" ? known : { ...known, ...(disk && { disk }), ...(group && { group }) };
  const state = { ...kept.disk, ...report };
  const before = kept.state;
  if (before && (isNewer(before, state) || isSame(before, state))) return { known: kept, report: "not" };
  return { known: { ...kept, state }, report: state.state === "working" ? "soon" : "now" };
}

/** A change of state is reported at once, a change of size once it is large enough. */
export function withDisk(known: KnownNode, disk: Disk): Change {
  const { state } = known;
  const isOther = state?.disk !== disk.disk;
  const hasMoved = Math.abs(disk.used_disk_mb - (state?.used_disk_mb ?? 0)) >= noticedMb;
  if (state === undefined || (!isOther && !hasMoved)) return { known: { ...known, disk }, report: "not" };
  return { known: { ...known, disk, state: { ...state, ...disk } }, report: isOther ? "now" : "soon" };
}

/** All tasks of the node. Progress waits for the next heartbeat; the end of a task is reported at once. */
export function withTasks({ tasks: before = [], ...known }: KnownNode, tasks: TaskReport[]): Change {
  const after = { ...known, ...(tasks.length > 0 && { tasks }) };
  return { known: after, report: whenToReport(before, tasks) };
}

/** A change of primary or of membership is reported at once; the backlog waits for the next heartbeat. */
export function withGroup(known: KnownNode, group: GroupReport): Change {
  const after = { ...known, group };
  if (known.state === undefined || isDeepStrictEqual(known.group, group)) return { known: after, report: "not" };
  const withoutBacklog = (one: GroupReport | undefined) => ({ ...one, backlog_seconds: 0 });
  const isBacklogOnly = isDeepStrictEqual(withoutBacklog(known.group), withoutBacklog(group));
  return { known: after, report: isBacklogOnly ? "soon" : "now" };
}

/** For tasks and captures. */
export function whenToReport(before: readonly TaskReport[], after: readonly TaskReport[]): Change["report"] {
  if (isSame(before, after)) return "not";
  const hasEnded = ({ id, state }: TaskReport): boolean =>
    state !== "working" && before.find((task) => task.id === id)?.state !== state;
  return after.some(hasEnded) ? "now" : "soon";
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
