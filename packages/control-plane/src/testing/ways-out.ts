/**
 * The ways out of each combination of a database's status and its dead hosts: `ways-out.integration.test.ts` begins
 * every one of them, and `tools/ways-out-page.ts` writes the page for operators.
 */

export const kinds = ["one node", "three nodes, semi_synch", "three nodes, asynch"] as const;
export type Kind = (typeof kinds)[number];

/** The status when the hosts are declared dead. */
export const statuses = [
  "active",
  "degraded",
  "updating",
  "backing_up",
  "restoring",
  "suspending",
  "suspended",
  "resuming",
] as const;
export type DeadStatus = (typeof statuses)[number];

/** How many of its hosts are dead. */
export type Dead = 1 | 2 | 3;
export const deadOf = (kind: Kind): readonly Dead[] => (kind === "one node" ? [1] : [1, 2, 3]);

/** One thing that happens, or that somebody does. */
export const steps = {
  jobs: "by itself",
  deadline: "by itself after the operation's deadline",
  move: "by itself, the restore is done on another host",
  resume: "the tenant resumes it",
  delete: "the tenant deletes it, and forks it before from its archive if the data are needed",
  restore: "the tenant restores it to a backup",
  bootstrap: "the operator runs `moorage admin db bootstrap <id> --accept-loss`",
} as const;
export type Step = keyof typeof steps;

/** Where a way ends. */
export const ends = {
  elsewhere: "it is restored on another host from the newest point in its archive",
  replaced: "the lost nodes are replaced",
  restored: "it has the data of the backup, and the lost nodes are replaced",
  deleted: "it is gone, and costs nothing",
} as const;
export type WayOut = { steps: readonly Step[]; end: keyof typeof ends };

/** What must happen first. All other statuses end with their operation. */
const stepsBefore: Partial<Record<DeadStatus, readonly Step[]>> = {
  active: [],
  degraded: [],
  suspended: ["resume"],
  resuming: ["deadline", "resume"],
};

/** Never empty. */
export function waysOut(kind: Kind, status: DeadStatus, dead: Dead): readonly WayOut[] {
  if (kind === "one node") return [{ steps: ["jobs"], end: "elsewhere" }];
  // The maker of the data is on one of the dead hosts.
  if (status === "restoring" && dead < 3) return [{ steps: ["move"], end: "restored" }];
  const before = stepsBefore[status] ?? ["deadline"];
  const then = (step: Step, end: WayOut["end"]): WayOut => ({ steps: [...before, step], end });
  if (dead === 1) return [then("jobs", "replaced")];
  const deletion = then("delete", "deleted");
  return dead === 2 ? [then("bootstrap", "replaced"), then("restore", "restored"), deletion] : [deletion];
}
