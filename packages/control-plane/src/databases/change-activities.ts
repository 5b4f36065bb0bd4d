import { findNodes, type NodeRow, resizeNodes, type Wanted, want } from "#fleet/index.ts";
import { giveBackToLimits } from "#identity/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { findPlan, type Plan } from "#regions/index.ts";
import type { ActivityDeps } from "./activities.ts";
import { previousOf } from "./change-database.ts";
import { type ChangeKind, changeOf, changes } from "./changes.ts";
import { statusAfter } from "./database.ts";
import { type DatabaseRow, saveDatabase } from "./database-store.ts";
import { meterDatabase } from "./meter-database.ts";
import { plannedPatch } from "./plan-patches.ts";
import { differenceOf } from "./resize-database.ts";
import { type Settlement, settle } from "./settle.ts";
import { areThere, loadDatabase, specsOf, wakeHosts, wantAsRow } from "./want-specs.ts";

/** Why a change is not wanted: no host was told of it. */
export type Unwanted = "no room" | "not there" | "too late";

/** The steps of every change that hosts follow. Each is repeatable: it may have been done before. */
export const createChangeActivities = ({ db, clock, zone, archive }: ActivityDeps) => ({
  /** Wants of every node what the row says now, with the room on its host that this needs. */
  wantChange: async (operationId: number): Promise<"wanted" | Unwanted> => {
    const wanted = await db.transaction().execute(async (tx): Promise<Wanted | Unwanted> => {
      const context = await loadDatabase(tx, operationId, archive);
      const { database, plan } = context;
      const nodes = await findNodes(tx, database.account_id, database.id);
      // Asked again under the row's lock: what was given up meanwhile must not be wanted.
      const { settled_at, deadline_at } = await findOperation(tx, operationId);
      if (settled_at !== null || !areThere(nodes)) return "not there";
      const isWanted = nodes.some(({ waiting_operation_id }) => waiting_operation_id === operationId);
      if (!isWanted && clock() >= deadline_at) return "too late";
      if (!(await resizeNodes(tx, nodes, larger(plan, nodes)))) return "no room";
      return want(tx, operationId, "change", await specsOf(tx, nodes, { ...context, zone }));
    });
    if (typeof wanted === "string") return wanted;
    await wakeHosts(db, wanted);
    return "wanted";
  },

  /** Given up: the row is as before and wanted again, because a host may have gone half of the way. */
  settleChange: async (operationId: number, settlement: Settlement): Promise<void> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const { account_id, id, status } = context.database;
      const change = changeOf(context.operation.kind);
      const message = await messageOf(tx, context.database, change.failed, settlement);
      const operation = await settle(tx, operationId, { done: settlement.done, ...message }, clock());
      if (operation === undefined) return undefined;
      const ended: DatabaseRow = { ...context.database, ...(settlement.done ? {} : previousOf(operation)) };
      const database = await saveDatabase(tx, account_id, id, {
        ...{ plan: ended.plan, powered: ended.powered, image: ended.image },
        status: statusAfter(change.work, status, settlement),
        patch_due_at: plannedPatch(ended, context.engine, clock()),
        updated_at: clock(),
      });
      const plan = (await findPlan(tx, database.plan)) as Plan;
      await resizeNodes(tx, await findNodes(tx, account_id, id), plan);
      const again = settlement.done
        ? undefined
        : await wantAsRow(tx, operationId, phaseOfFailure(change), { ...context, database, plan, zone });
      await meterDatabase(tx, database, clock());
      if (plan.id !== context.plan.id)
        await giveBackToLimits(tx, account_id, differenceOf(context.plan, plan, database.cluster_size));
      return again;
    });
    if (wanted !== undefined) await wakeHosts(db, wanted);
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

async function messageOf(
  tx: Tx,
  database: DatabaseRow,
  failed: string,
  { done, message }: Settlement,
): Promise<{ message?: string }> {
  if (done) return {};
  const nodes = await findNodes(tx, database.account_id, database.id);
  const said = message ?? nodes.find(({ observed_message }) => observed_message !== null)?.observed_message;
  return { message: `${failed}: ${said ?? "a host did not confirm it in time."}` };
}
