import { agreedPrimary, type GroupReport } from "@moorage/contract/agent";
import type { Progress } from "#fleet/index.ts";
import type { Text } from "@moorage/contract/texts";
import { texts as databaseTexts } from "../../texts.ts";
import { texts } from "../texts.ts";

/**
 * A change of three nodes, one at a time. The next step follows from their present state: the primary may have changed
 * meanwhile, and after a crash only the rows are left.
 */

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
  | { step: "wait" }
  /** From now on all members return to the previous version. */
  | { step: "back"; why: Text }
  | { step: "end"; done: boolean; why?: Text };

/** Secondaries by their ordinals, then a switchover, then the old primary; each only while all three are healthy. */
export function nextStep(members: readonly RollingMember[], course: Course): RollStep {
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

/** A member that cannot go back either stays as it is: the health check repairs the cluster. */
const failure = ({ direction }: Course, why: Text): RollStep =>
  direction === "forward" ? { step: "back", why } : { step: "end", done: false };

const outOfTime = ({ direction, canPause }: Course, why: Text): RollStep =>
  direction === "forward" && !canPause ? { step: "back", why } : { step: "end", done: false, why };
