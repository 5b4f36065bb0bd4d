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

/** Why a change is not wanted: no host was told of it. */
export type ChangeRefusal = "no room" | "not there" | "too late";

/** The steps of every change that hosts follow. Each is repeatable: it may have been done before. */
export const createChangeActivities = ({ db, clock, zone, archive }: ActivityDeps) => ({
  ...createRollActivities({ db, clock, zone, archive }),

  /** Takes the room that it needs on every host, and wants of every node what the row says now, or leaves it to turns. */
  applyChange: async (
    operationId: number,
  ): Promise<"requested" | "requested out of group" | "one by one" | ChangeRefusal> => {
    const outcome = await db.transaction().execute(async (tx): Promise<Started | "one by one" | ChangeRefusal> => {
      const context = await loadDatabase(tx, operationId, archive);
      const { database, plan, operation } = context;
      const nodes = await findNodes(tx, database.account_id, database.id);
      // Asked again under the row's lock: what was given up meanwhile must not be wanted.
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
   * Given up: the row is as before and wanted again, because a host may have gone half of the way. Nodes that take turns
   * have gone back by turns too; what could not is left to the next window, for they must not restart all at once.
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

/** Ends a change whose workflow could not, when its deadline has passed. */
export const createChangeExpiry = ({ settleChange }: ChangeActivities) => {
  const giveUp = (operationId: number): Promise<void> => settleChange(operationId, { done: false });
  return Object.fromEntries(Object.keys(changes).map((kind) => [kind, giveUp])) as Record<ChangeKind, typeof giveUp>;
};

/** Both sizes at once, until it is known which it will be: a plan may have more disk and less memory. */
const larger = (plan: Plan, nodes: readonly NodeRow[]) => ({
  memory_mb: Math.max(plan.memory_mb, ...nodes.map(({ memory_mb }) => memory_mb)),
  disk_mb: Math.max(plan.disk_mb, ...nodes.map(({ disk_mb }) => disk_mb)),
});

/** A change that nothing goes back from is wanted all the same; one that was wanted already is not wanted twice. */
const phaseOfFailure = ({ keeps }: { keeps: readonly unknown[] }): string =>
  keeps.length === 0 ? "change" : "as before";

/** Nodes of one database that restart with the change: never more than one of them at a time. */
const rollsOver = ({ kind }: Pick<OperationRow, "kind">, database: DatabaseRow): boolean =>
  changeOf(kind).rolls === true && isCluster(database);

/** `apart`: its nodes will be in no group, and have to be brought together. */
type Started = HostsToWake & { outOfGroup: boolean };

/** A group ends with its last member. */
const startsOutOfGroup = ({ kind }: Pick<OperationRow, "kind">, database: DatabaseRow): boolean =>
  changeOf(kind).starts === true && isCluster(database);

/** `others`: so many nodes are not what the database is shown as. */
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
