import type { Tx } from "#platform/db/database.ts";
import { findNodes, type NodeRow, resizeNodes, setDesiredSpecs, setSizes, setWaitingOperation } from "#fleet/index.ts";
import { releaseFromLimits } from "#identity/index.ts";
import type { OperationRow } from "#operations/index.ts";
import { findPlan, type Plan } from "#regions/index.ts";
import { type Change, type ChangeContext, type Engine, inOperation, type Taken } from "../changes/change.ts";
import { type ColumnChangeInput, inputOf } from "../changes/column-changes.ts";
import { endTries } from "../clusters/health/switch-activities.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { isCluster, statusAfter } from "../model/database.ts";
import { differenceOf, meterDatabase } from "../model/usage.ts";
import { plannedPatch } from "../model/plan-patches.ts";
import { reportedBy } from "../model/reported-by.ts";
import { texts } from "../model/texts.ts";
import { areThere, setDesiredFromRow, specsOf } from "../spec/desired-specs.ts";
import { sizeOf, unlike } from "../spec/own-version.ts";
import { changeReach } from "./change-reach.ts";
import { columnChangeOf } from "./table.ts";

/** Why a change was not sent to any host. */
export type ChangeRefusal = "no room" | "not there" | "too late";
type Applied = "requested" | "requested out of group" | "one by one" | ChangeRefusal;

/** The first step of every change of columns. Repeatable: it may have run before. */
export const createApplyActivities = (engine: Engine) => ({
  /**
   * Reserves the room on every host, if nodes get another size, and sets the desired state of all nodes from the row, or
   * leaves that to the rolling change.
   */
  applyChange: (operationId: number): Promise<Applied> =>
    inOperation(engine, operationId, async (tx, context): Promise<Taken<Applied>> => {
      const { database, plan, operation, isOpen } = context;
      const nodes = await findNodes(tx, database.account_id, database.id);
      if (!isOpen || !areThere(nodes)) return { answer: "not there" };
      const isRequested = nodes.some(({ waiting_operation_id }) => waiting_operation_id === operationId);
      if (!isRequested && engine.clock() >= operation.deadline_at) return { answer: "too late" };
      const mayResize = columnChangeOf(operation.kind).rolls === true;
      if (mayResize && !(await resizeNodes(tx, nodes, larger(plan, nodes)))) return { answer: "no room" };
      if (rollsOver(operation, database)) {
        await setWaitingOperation(tx, operationId, nodes);
        return { answer: "one by one" };
      }
      const outOfGroup = startsOutOfGroup(operation, database);
      const specs = await specsOf(tx, nodes, context);
      const { hosts } = await setDesiredSpecs(tx, operationId, "change", specs, { upTo: outOfGroup ? 50 : 100 });
      return { answer: outOfGroup ? "requested out of group" : "requested", hosts };
    }),
});
export type ApplyActivities = ReturnType<typeof createApplyActivities>;

export const judgeColumnChange: NonNullable<Change["judge"]> = async (tx, context, { done, message, degraded }) => {
  const { operation, database } = context;
  const nodes = await findNodes(tx, database.account_id, database.id);
  const change = columnChangeOf(operation.kind);
  const reach = await changeReach(tx, context, nodes);
  // All members have it: only the word of it was late.
  const isApplied = change.failedInPart !== undefined && reach.mayBeApplied && reach.behind.length === 0;
  if (done && degraded === true) return { done, degraded, ...(message === undefined ? {} : { message }) };
  if (done || isApplied)
    return change.done === undefined ? { done: true } : { done: true, message: change.done(lastObserved(nodes)) };
  const why = message?.text ?? reportedBy(nodes) ?? texts.hostLate().text;
  if (change.failedInPart !== undefined && reach.mayBeApplied)
    return { done, message: change.failedInPart({ why, behind: reach.behind }) };
  const rolledBack = { ...database, ...inputOf(operation).previous };
  const others = rollsOver(operation, database) ? unlike(rolledBack, context.engine, nodes) : 0;
  return {
    done,
    message:
      others === 0 ? change.failed({ why }) : texts.changeIncomplete({ changed: others, nodes: nodes.length, why }),
  };
};

/**
 * On failure the previous row is restored and requested again, because a host may have applied half of the change. A
 * rolling change has been rolled back node by node already; nodes that could not be are left to the next window,
 * because they must not restart all at once.
 */
export const endColumnChange: Change["end"] = async (tx, context, settlement, at) => {
  const { operation, engine } = context;
  const { account_id, id, status, cluster_size } = context.database;
  const change = columnChangeOf(operation.kind);
  const nodes = await findNodes(tx, account_id, id);
  const columns = settlement.done ? {} : await columnsToRollBack(tx, context, nodes);
  const ended = { ...context.database, ...columns };
  const database = await saveDatabase(tx, account_id, id, {
    ...columns,
    status: statusAfter(change.work, status, { ...settlement, before: inputOf(operation).before }),
    patch_due_at: plannedPatch(ended, engine, at, unlike(ended, engine, nodes) > 0),
    updated_at: at,
  });
  const plan = (await findPlan(tx, database.plan)) as Plan;
  await setSizes(
    tx,
    nodes.map((node) => ({ node, size: isCluster(database) ? sizeOf(node, plan) : plan })),
  );
  await meterDatabase(tx, database, at);
  if (plan.id !== context.plan.id)
    await releaseFromLimits(tx, account_id, differenceOf(context.plan, plan, cluster_size));
  if (settlement.done) return undefined;
  const asEnded = { ...context, database, plan };
  return rollsOver(operation, database)
    ? endTries(tx, asEnded, at)
    : setDesiredFromRow(tx, operation.id, phaseOfFailure(change), asEnded);
};

async function columnsToRollBack(
  tx: Tx,
  context: ChangeContext,
  nodes: readonly NodeRow[],
): Promise<ColumnChangeInput["previous"]> {
  const { operation, database } = context;
  const { previous } = inputOf(operation);
  const { remains } = columnChangeOf(operation.kind);
  if (remains === undefined || !(await changeReach(tx, context, nodes)).mayBeApplied) return previous;
  return remains(previous, database);
}

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
  columnChangeOf(kind).rolls === true && isCluster(database);

/** A group ends when its last member stops. */
const startsOutOfGroup = ({ kind }: Pick<OperationRow, "kind">, database: DatabaseRow): boolean =>
  columnChangeOf(kind).starts === true && isCluster(database);

/** When the last of the nodes had what is observed now. */
function lastObserved(nodes: readonly NodeRow[]): Date | undefined {
  const times = nodes.flatMap(({ observed_at }) => (observed_at === null ? [] : [observed_at.getTime()]));
  return times.length === 0 ? undefined : new Date(Math.max(...times));
}
