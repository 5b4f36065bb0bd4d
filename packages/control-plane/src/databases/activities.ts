import { step } from "@moorage/crash-points";
import { findOperation } from "#operations/index.ts";
import type { Sealer } from "#platform/seal.ts";
import { createBackupActivities } from "./backups/snapshot.ts";
import { type Engine, inOperation, settle, type Settlement } from "./changes/change.ts";
import { createBootstrapActivities } from "./clusters/health/bootstrap-activities.ts";
import { createReplaceActivities } from "./clusters/health/replace-activities.ts";
import { createSwitchActivities } from "./clusters/health/switch-activities.ts";
import { createRollActivities } from "./clusters/rolling/roll-activities.ts";
import { createDeleteActivities } from "./provision/delete-database.ts";
import { createProvisionActivities } from "./provision/provision-activities.ts";
import { changeOf, kinds } from "./table.ts";
import { createRestoreActivities } from "./timelines/restore-activities.ts";
import { createShipActivities } from "./timelines/ship-activities.ts";
import { createApplyActivities } from "./updates/apply-change.ts";
import { columnChangeOf } from "./updates/table.ts";

const stepOf = (kind: string): string => `end.${kind}`;
/** The end of each kind is a step of its own, at which a fault drill can kill the worker. */
export const endSteps = kinds.map(stepOf);

export type ChangeActivityDeps = Engine & { sealer: Sealer; hostSilentSeconds: number };

/** The steps of all operations on databases that use only PostgreSQL. Each is repeatable: it may have run before. */
export const createChangeActivities = (deps: ChangeActivityDeps) => ({
  ...createProvisionActivities(deps),
  ...createDeleteActivities(deps),
  ...createApplyActivities(deps),
  ...createRollActivities({ ...deps, canPause: (kind) => columnChangeOf(kind).pauses === true }),
  ...createBackupActivities(deps),
  ...createShipActivities(deps),
  ...createRestoreActivities(deps),
  ...createBootstrapActivities(deps),
  ...createReplaceActivities(deps),
  ...createSwitchActivities(deps),
  ...createChangeEnd(deps),
});
export type ChangeActivities = ReturnType<typeof createChangeActivities>;

/** Ends any operation on a database, once, by its row of the table. */
const createChangeEnd = (engine: Engine) => ({
  async endChange(operationId: number, proposed: Settlement): Promise<void> {
    const { kind } = await findOperation(engine.db, operationId);
    const { judge, end } = changeOf(kind);
    await step(stepOf(kind), () =>
      inOperation(engine, operationId, async (tx, context) => {
        if (!context.isOpen) return { answer: undefined };
        const at = engine.clock();
        const settlement = judge === undefined ? proposed : await judge(tx, context, proposed, at);
        if ((await settle(tx, operationId, settlement, at)) === undefined) return { answer: undefined };
        return { answer: undefined, ...(await end(tx, context, settlement, at)) };
      }),
    );
  },
});
type ChangeEnd = ReturnType<typeof createChangeEnd>;

/** Ends operations after their deadline if their workflows could not, by kind. */
export const createChangeExpiry = ({ endChange }: ChangeEnd): Record<string, (id: number) => Promise<void>> => {
  const expire = (kind: string) => {
    const { late } = changeOf(kind);
    return (id: number) => endChange(id, { done: false, ...(late === undefined ? {} : { message: late() }) });
  };
  return Object.fromEntries(kinds.map((kind) => [kind, expire(kind)]));
};
