import type { Sealer } from "#platform/seal.ts";
import { createBackupActivities } from "../backups/backup-activities.ts";
import { createBootstrapActivities } from "../clusters/health/bootstrap-activities.ts";
import { createReplaceActivities } from "../clusters/health/replace-activities.ts";
import { createSwitchActivities } from "../clusters/health/switch-activities.ts";
import { createRollActivities } from "../clusters/rolling/roll-activities.ts";
import { createDeleteActivities } from "../delete-activities.ts";
import { createProvisionActivities } from "../provision-activities.ts";
import { createRestoreActivities } from "../timelines/restore-activities.ts";
import { createShipActivities } from "../timelines/ship-activities.ts";
import { createApplyActivities } from "./apply-change.ts";
import { createChangeEnd } from "./end-change.ts";
import type { Engine } from "./in-operation.ts";

export type ChangeActivityDeps = Engine & { sealer: Sealer; hostSilentSeconds: number };

/** The steps of all operations on databases that use only PostgreSQL. Each is repeatable: it may have run before. */
export const createChangeActivities = (deps: ChangeActivityDeps) => ({
  ...createProvisionActivities(deps),
  ...createDeleteActivities(deps),
  ...createApplyActivities(deps),
  ...createRollActivities(deps),
  ...createBackupActivities(deps),
  ...createShipActivities(deps),
  ...createRestoreActivities(deps),
  ...createBootstrapActivities(deps),
  ...createReplaceActivities(deps),
  ...createSwitchActivities(deps),
  ...createChangeEnd(deps),
});
export type ChangeActivities = ReturnType<typeof createChangeActivities>;
