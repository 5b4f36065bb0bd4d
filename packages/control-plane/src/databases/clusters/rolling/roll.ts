/**
 * A change of three nodes, one at a time. The next step follows from their present state: the primary may have changed
 * meanwhile, and after a crash only the rows are left.
 */
import { agreedPrimary, type GroupReport } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import type { Progress } from "#fleet/index.ts";
import { noteInOperation, type OperationRow } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { texts as databaseTexts } from "../../model/texts.ts";
import { texts } from "../texts.ts";

/** Three members and a switchover. */
const SHARES = 4;

/** A member while its cluster is changed. */
export type RollingMember = {
  node: string;
  ordinal: number;
  /** The member has its new spec already. */
  sent: boolean;
  /** The progress of its host with that spec; observed, if there was none. */
  progress: Progress;
  group: GroupReport | null;
};

export type Course = {
  /** Back: one member failed, and all return to the previous version. */
  direction: "forward" | "back";
  /** The member being changed has used up its share of the time. */
  stepIsLate: boolean;
  /** Not enough time is left for another member. */
  timeIsShort: boolean;
  /** The rest can wait for the next window, because members may differ. */
  canPause: boolean;
};

export type RollStep =
  | { step: "change"; node: string }
  /** Only the primary is left: another member must become primary first. */
  | { step: "switch" }
  /** All members are out of a group, as after a power failure: none can continue before it is bootstrapped again. */
  | { step: "bootstrap" }
  | { step: "wait" }
  /** From now on all members return to the previous version. */
  | { step: "back"; why: Text }
  | { step: "end"; done: boolean; why?: Text };

/** The progress of a rolling change. Stored with its operation, because a worker may die at any step. */
export type Roll = {
  /** The time for the whole change; the way back has as much again. */
  seconds: number;
  /** When the member being changed must be done. */
  step_until?: string;
  /** Why the change is rolled back. */
  back?: Text;
};

type Timed = Pick<OperationRow, "input" | "created_at" | "deadline_at">;

/** Secondaries by their ordinals, then a switchover, then the old primary; each only while all three are healthy. */
export function nextStep(members: readonly RollingMember[], course: Course): RollStep {
  if (members.every(isApart) && !course.timeIsShort) return { step: "bootstrap" };
  const sent = members.filter((member) => member.sent);
  const unsent = members.filter((member) => !member.sent).sort((a, b) => a.ordinal - b.ordinal);
  for (const { progress } of sent)
    if (progress.state === "failed") return failure(course, databaseTexts.hostReported(progress));
  const broken = course.direction === "back" ? unsent.find(({ group }) => group?.state !== "online") : undefined;
  // Waiting until all are healthy would not end: this member is the one to repair.
  if (broken !== undefined) return { step: "change", node: broken.node };
  if (sent.some(({ progress }) => progress.state === "pending"))
    return course.stepIsLate ? failure(course, databaseTexts.hostLate()) : { step: "wait" };

  const primary = agreedPrimary(members.map(({ node, group }) => ({ node, report: group })));
  if (unsent.length === 0)
    return primary === undefined && course.direction === "forward" && !course.timeIsShort
      ? { step: "wait" }
      : { step: "end", done: course.direction === "forward" };
  if (course.timeIsShort)
    return outOfTime(course, primary === undefined ? texts.rollNodesUnhealthy() : texts.rollOutOfTime());
  if (primary === undefined) return { step: "wait" };
  const next = unsent.find(({ node }) => node !== primary);
  return next === undefined ? { step: "switch" } : { step: "change", node: next.node };
}

/** A member of a group; an asynchronous cluster has a term, and no group. */
const isApart = ({ group }: RollingMember): boolean =>
  group?.gtid !== undefined && group.term === undefined && (group.state === "offline" || group.state === "error");

/** A member that cannot go back either stays as it is: the health check repairs the cluster. */
const failure = ({ direction }: Course, why: Text): RollStep =>
  direction === "forward" ? { step: "back", why } : { step: "end", done: false };

const outOfTime = ({ direction, canPause }: Course, why: Text): RollStep =>
  direction === "forward" && !canPause ? { step: "back", why } : { step: "end", done: false, why };

export function courseOf(operation: Timed, now: Date): Omit<Course, "canPause"> {
  const { back, step_until } = rollOf(operation);
  return {
    direction: back === undefined ? "forward" : "back",
    stepIsLate: now >= (step_until === undefined ? operation.deadline_at : new Date(step_until)),
    timeIsShort: now > lastStart(operation),
  };
}

export const rollOf = ({ input, created_at, deadline_at }: Timed): Roll =>
  (input["roll"] as Roll | undefined) ?? { seconds: (deadline_at.getTime() - created_at.getTime()) / 1000 };

/** No member starts that could not finish in time: a maintenance window never ends in the middle of one. */
export const lastStart = (operation: Timed): Date => {
  const roll = rollOf(operation);
  return new Date(operation.deadline_at.getTime() - (roll.back === undefined ? shareOf(roll) : 0));
};

const shareOf = ({ seconds }: Roll): number => (seconds * 1000) / SHARES;

export const noteStep = (tx: Tx, operation: OperationRow, now: Date): Promise<unknown> => {
  const roll = rollOf(operation);
  const step_until = new Date(now.getTime() + shareOf(roll)).toISOString();
  return noteInOperation(tx, operation.id, { roll: { ...roll, step_until } });
};

/** Once: a rollback is never reversed. */
export const turnBack = (tx: Tx, operation: OperationRow, why: Text, now: Date): Promise<unknown> => {
  const { seconds } = rollOf(operation);
  const until = new Date(now.getTime() + seconds * 1000);
  return noteInOperation(tx, operation.id, { roll: { seconds, back: why } satisfies Roll }, until);
};
