import type { GroupReport } from "@moorage/contract/agent";
import type { Progress } from "#fleet/index.ts";

/**
 * A change of three nodes, one at a time. What comes next follows from how they are now, not from a list that was made
 * once: a primary may have failed over meanwhile, and whoever goes on after a crash knows only what is written.
 */

/** A member while its cluster is changed. */
export type RollingMember = {
  node: string;
  ordinal: number;
  /** It was told already what all of them are to be. */
  sent: boolean;
  /** Where its host is with what it was told; observed, if nothing was. */
  progress: Progress;
  group: GroupReport | null;
};

export type Course = {
  /** Back: one of them could not follow, and all are to be as before. */
  direction: "forward" | "back";
  /** The member whose turn it is has had its share of the time. */
  stepIsLate: boolean;
  /** Not enough time is left for another member. */
  timeIsShort: boolean;
  /** The rest can wait for another day, because it does no harm that members differ. */
  canPause: boolean;
};

export type RollStep =
  | { step: "change"; node: string }
  /** Only the primary is left: another has to lead first. */
  | { step: "switch" }
  | { step: "wait" }
  /** From now on all are to be as before. */
  | { step: "back"; why: string }
  | { step: "end"; done: boolean; why?: string };

const LATE = "a host did not confirm it in time.";
const NOT_HEALTHY = "not all of its nodes were healthy in time.";
const NO_TIME = "its time was over before all of its nodes had it.";

/** Secondaries by their ordinals, then the primary after another leads; each only while all three are healthy. */
export function nextStep(members: readonly RollingMember[], course: Course): RollStep {
  const sent = members.filter((member) => member.sent);
  const unsent = members.filter((member) => !member.sent).sort((a, b) => a.ordinal - b.ordinal);
  for (const { progress } of sent) if (progress.state === "failed") return failure(course, progress.message);
  const broken = course.direction === "back" ? unsent.find(({ group }) => group?.state !== "online") : undefined;
  // Nobody is healthy by waiting for it: it is what has to be mended.
  if (broken !== undefined) return { step: "change", node: broken.node };
  if (sent.some(({ progress }) => progress.state === "pending"))
    return course.stepIsLate ? failure(course, LATE) : { step: "wait" };

  const primary = agreedPrimary(members);
  if (unsent.length === 0)
    return primary === undefined && course.direction === "forward" && !course.timeIsShort
      ? { step: "wait" }
      : { step: "end", done: course.direction === "forward" };
  if (course.timeIsShort) return outOfTime(course, primary === undefined ? NOT_HEALTHY : NO_TIME);
  if (primary === undefined) return { step: "wait" };
  const next = unsent.find(({ node }) => node !== primary);
  return next === undefined ? { step: "switch" } : { step: "change", node: next.node };
}

/** Whoever cannot go back either stays as it is: its cluster's health is mended in another way. */
const failure = ({ direction }: Course, why: string): RollStep =>
  direction === "forward" ? { step: "back", why } : { step: "end", done: false };

const outOfTime = ({ direction, canPause }: Course, why: string): RollStep =>
  direction === "forward" && !canPause ? { step: "back", why } : { step: "end", done: false, why };

/**
 * Who leads, if every member says that all of them are online in the same view. A member that came back has made a new
 * view, so what the others said before it left does not count.
 */
export function agreedPrimary(members: readonly Pick<RollingMember, "node" | "group">[]): string | undefined {
  const [first] = members.map(({ group }) => group);
  const agree = members.every(
    ({ group }) =>
      group?.state === "online" &&
      group.shared &&
      group.online === members.length &&
      group.view === first?.view &&
      group.primary === first?.primary,
  );
  return agree ? members.find(({ node }) => node === first?.primary)?.node : undefined;
}
