import {
  findNodes,
  setSizes,
  setWaitingOperation,
  type NodeRow,
  resizeNodes,
  type HostsToWake,
  setDesiredSpecs,
} from "#fleet/index.ts";
import { releaseFromLimits } from "#identity/index.ts";
import { findOperation, type OperationRow } from "#operations/index.ts";
import { findPlan, type Plan } from "#regions/index.ts";
import type { ActivityDeps } from "./activities.ts";
import { previousOf } from "./change-database.ts";
import { type ChangeKind, changeOf, changes } from "./changes.ts";
import { isCluster } from "./clusters/cluster-spec.ts";
import { endTries } from "./clusters/health/switch-activities.ts";
import { sizeOf, unlike } from "./clusters/rolling/own-version.ts";
import { createRollActivities } from "./clusters/rolling/roll-activities.ts";
import { statusAfter } from "./database.ts";
import { type DatabaseRow, saveDatabase } from "./database-store.ts";
import { meterDatabase } from "./meter-database.ts";
import { plannedPatch } from "./plan-patches.ts";
import { reportedBy } from "./reported-by.ts";
import { differenceOf } from "./resize-database.ts";
import { type Settlement, settle } from "./settle.ts";
import { areThere, loadDatabase, specsOf, wakeHosts, setDesiredFromRow } from "./desired-specs.ts";

/** Why a change was not sent to any host. */
export type ChangeRefusal = "no room" | "not there" | "too late";

/** The steps of every change that hosts apply. Each is repeatable: it may have run before. */
export const createChangeActivities = ({ db, clock, zone, archive }: ActivityDeps) => ({
  ...createRollActivities({ db, clock, zone, archive }),

  /**
   * Reserves the room on every host and sets the desired state of all nodes from the row, or leaves it to the rolling
   * change.
   */
  applyChange: async (
    operationId: number,
  ): Promise<"requested" | "requested out of group" | "one by one" | ChangeRefusal> => {
    const outcome = await db.transaction().execute(async (tx): Promise<Started | "one by one" | ChangeRefusal> => {
      const context = await loadDatabase(tx, operationId, archive);
      const { database, plan, operation } = context;
      const nodes = await findNodes(tx, database.account_id, database.id);
      // Read again under the row's lock: a change that was given up meanwhile must not become desired state.
      const { settled_at, deadline_at } = await findOperation(tx, operationId);
      if (settled_at !== null || !areThere(nodes)) return "not there";
      const isRequested = nodes.some(({ waiting_operation_id }) => waiting_operation_id === operationId);
      if (!isRequested && clock() >= deadline_at) return "too late";
      if (!(await resizeNodes(tx, nodes, larger(plan, nodes)))) return "no room";
      if (rollsOver(operation, database)) {
        await setWaitingOperation(tx, operationId, nodes);
        return "one by one";
      }
      const outOfGroup = startsOutOfGroup(operation, database);
      const specs = await specsOf(tx, nodes, { ...context, zone });
      return {
        ...(await setDesiredSpecs(tx, operationId, "change", specs, { upTo: outOfGroup ? 50 : 100 })),
        outOfGroup,
      };
    });
    if (typeof outcome === "string") return outcome;
    await wakeHosts(db, outcome);
    return outcome.outOfGroup ? "requested out of group" : "requested";
  },

  /**
   * On failure the previous row is restored and requested again, because a host may have applied half of the change. A
   * rolling change has been rolled back node by node already; nodes that could not be are left to the next window,
   * because they must not restart all at once.
   */
  settleChange: async (operationId: number, settlement: Settlement): Promise<void> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const { account_id, id, status } = context.database;
      const change = changeOf(context.operation.kind);
      const rolls = rollsOver(context.operation, context.database);
      const nodes = await findNodes(tx, account_id, id);
      const previous = settlement.done ? {} : previousOf(context.operation);
      const ended: DatabaseRow = { ...context.database, ...previous };
      const others = unlike(ended, context.engine, nodes);
      const message = messageOf(nodes, change.failed, settlement, rolls ? others : 0);
      const operation = await settle(tx, operationId, { done: settlement.done, ...message }, clock());
      if (operation === undefined) return undefined;
      const database = await saveDatabase(tx, account_id, id, {
        ...{ plan: ended.plan, powered: ended.powered, image: ended.image },
        status: statusAfter(change.work, status, settlement),
        patch_due_at: plannedPatch(ended, context.engine, clock(), others > 0),
        updated_at: clock(),
      });
      const plan = (await findPlan(tx, database.plan)) as Plan;
      await setSizes(
        tx,
        nodes.map((node) => ({ node, size: isCluster(database) ? sizeOf(node, plan) : plan })),
      );
      const asEnded = { ...context, database, plan, zone };
      const again = settlement.done
        ? undefined
        : rolls
          ? await endTries(tx, asEnded, clock())
          : await setDesiredFromRow(tx, operationId, phaseOfFailure(change), asEnded);
      await meterDatabase(tx, database, clock());
      if (plan.id !== context.plan.id)
        await releaseFromLimits(tx, account_id, differenceOf(context.plan, plan, database.cluster_size));
      return again;
    });
    if (toWake !== undefined) await wakeHosts(db, toWake);
  },
});
export type ChangeActivities = ReturnType<typeof createChangeActivities>;

/** Ends a change after its deadline if its workflow could not. */
export const createChangeExpiry = ({ settleChange }: ChangeActivities) => {
  const giveUp = (operationId: number): Promise<void> => settleChange(operationId, { done: false });
  return Object.fromEntries(Object.keys(changes).map((kind) => [kind, giveUp])) as Record<ChangeKind, typeof giveUp>;
};

/** Reserves the larger of both sizes until the outcome is known: a plan may have more disk and less memory. */
const larger = (plan: Plan, nodes: readonly NodeRow[]) => ({
  memory_mb: Math.max(plan.memory_mb, ...nodes.map(({ memory_mb }) => memory_mb)),
  disk_mb: Math.max(plan.disk_mb, ...nodes.map(({ disk_mb }) => disk_mb)),
});

/** A change that is never rolled back stays desired; the phase of the same name is not written twice. */
const phaseOfFailure = ({ keeps }: { keeps: readonly unknown[] }): string =>
  keeps.length === 0 ? "change" : "as before";

/** The nodes of a cluster that restart for the change do so one at a time. */
const rollsOver = ({ kind }: Pick<OperationRow, "kind">, database: DatabaseRow): boolean =>
  changeOf(kind).rolls === true && isCluster(database);

/** `outOfGroup`: the nodes start outside of a group, which has to be bootstrapped. */
type Started = HostsToWake & { outOfGroup: boolean };

/** A group ends when its last member stops. */
const startsOutOfGroup = ({ kind }: Pick<OperationRow, "kind">, database: DatabaseRow): boolean =>
  changeOf(kind).starts === true && isCluster(database);

/** `others`: the number of nodes that differ from the database's row. */
function messageOf(
  nodes: readonly NodeRow[],
  failed: string,
  { done, message }: Settlement,
  others: number,
): { message?: string } {
  if (done) return {};
  const reason = message ?? reportedBy(nodes) ?? "a host did not confirm it in time.";
  if (others === 0) return { message: `${failed}: ${reason}` };
  const left = `${others} of its ${nodes.length} nodes have it; it goes on in the next maintenance window`;
  return { message: `The change is not complete: ${left}: ${reason}` };
}
