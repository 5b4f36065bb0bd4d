import type { ActivityDeps } from "../../activities.ts";
import { createBootstrapActivities } from "./bootstrap-activities.ts";
import { createReplaceActivities } from "./replace-activities.ts";
import { createSwitchActivities } from "./switch-activities.ts";

export type HealthActivityDeps = Omit<ActivityDeps, "sealer"> & { hostSilentSeconds: number };

export const createHealthActivities = (deps: HealthActivityDeps) => ({
  ...createBootstrapActivities(deps),
  ...createReplaceActivities(deps),
  ...createSwitchActivities(deps),
});
export type HealthActivities = ReturnType<typeof createHealthActivities>;

/** Ends repairs and switchovers after their deadline if their workflow could not. */
export const createHealthExpiry = ({ settleBootstrap, settleReplacing, settleSwitchover }: HealthActivities) => ({
  bootstrapGroup: (operationId: number) =>
    settleBootstrap(operationId, { done: false, message: "Its nodes could not be brought together in time." }),
  replaceNode: (operationId: number) =>
    settleReplacing(operationId, { done: false, message: "A lost node could not be replaced in time." }),
  switchOver: (operationId: number) =>
    settleSwitchover(operationId, { done: false, message: "The primary was not changed in time." }),
});
