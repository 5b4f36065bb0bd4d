import { noteInOperation, type OperationRow } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import type { Course } from "./order.ts";

/** The progress of a rolling change. Stored with its operation, because a worker may die at any step. */
export type Roll = {
  /** The time for the whole change; the way back has as much again. */
  seconds: number;
  /** When the member being changed must be done. */
  step_until?: string;
  /** Why the change is rolled back. */
  back?: Text;
};

/** Three members and a switchover. */
const SHARES = 4;
const shareOf = ({ seconds }: Roll): number => (seconds * 1000) / SHARES;

type Timed = Pick<OperationRow, "input" | "created_at" | "deadline_at">;

export const rollOf = ({ input, created_at, deadline_at }: Timed): Roll =>
  (input["roll"] as Roll | undefined) ?? { seconds: (deadline_at.getTime() - created_at.getTime()) / 1000 };

/** No member starts that could not finish in time: a maintenance window never ends in the middle of one. */
export const lastStart = (operation: Timed): Date => {
  const roll = rollOf(operation);
  return new Date(operation.deadline_at.getTime() - (roll.back === undefined ? shareOf(roll) : 0));
};

export function courseOf(operation: Timed, now: Date): Omit<Course, "canPause"> {
  const { back, step_until } = rollOf(operation);
  return {
    direction: back === undefined ? "forward" : "back",
    stepIsLate: now >= (step_until === undefined ? operation.deadline_at : new Date(step_until)),
    timeIsShort: now > lastStart(operation),
  };
}

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
