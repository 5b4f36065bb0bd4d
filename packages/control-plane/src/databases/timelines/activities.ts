import type { ActivityDeps } from "../activities.ts";
import { createRestoreActivities } from "./restore-activities.ts";
import { createShipActivities } from "./ship-activities.ts";

/** The steps that archive a timeline before it is left, and restore one. */
export const createTimelineActivities = (deps: ActivityDeps) => ({
  ...createShipActivities(deps),
  ...createRestoreActivities(deps),
});

export const createTimelineExpiry = ({ settleRestore }: ReturnType<typeof createTimelineActivities>) => ({
  restoreDatabase: (operationId: number) => settleRestore(operationId, { done: false }),
});
