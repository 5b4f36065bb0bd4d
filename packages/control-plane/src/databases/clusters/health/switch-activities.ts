import { findNodes, findPhases, type HostsToWake, setDesiredSpecs } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import type { ActivityDeps } from "../../activities.ts";
import { statusAfter } from "../../database.ts";
import { saveDatabase } from "../../database-store.ts";
import { type Settlement, settle } from "../../settle.ts";
import { areThere, loadDatabase, type SpecContext, specsOf, wakeHosts } from "../../desired-specs.ts";
import { isAsynchronous } from "../cluster-spec.ts";
import { endHandOver, HAND_OVER_MS, handOver, isPrimary } from "../async-primary/hand-over.ts";
import { checkSoon } from "./check-store.ts";
import { orderId } from "./order-id.ts";
import { reportsOf } from "./report-store.ts";
import { observeMembers } from "./observe-cluster.ts";
import { choosePrimary } from "./switchable.ts";
import { SWITCH_PHASE } from "./notify-changes.ts";

/** The only attempt of a switchover that is an operation of its own. */
const ONLY_TRY = `${SWITCH_PHASE}1`;

/**
 * `refused`: no member was requested to become primary. `withinMs`: the limit of the attempt, within its operation's.
 */
export type PrimaryRequest = { state: "requested"; withinMs?: number } | { state: "refused"; why: string };

/**
 * The steps of a planned change of the primary, in any operation of a database. Each attempt has a phase of its own.
 */
export const createSwitchActivities = ({ db, clock, zone, archive }: Omit<ActivityDeps, "sealer">) => ({
  requestPrimary: async (operationId: number, phase: string): Promise<PrimaryRequest> => {
    if (!phase.startsWith(SWITCH_PHASE)) throw new Error(`${phase} is no phase in which another is to lead.`);
    const outcome = await db
      .transaction()
      .execute(async (tx): Promise<(HostsToWake & { withinMs?: number }) | string> => {
        const context = await loadDatabase(tx, operationId, archive);
        const { database } = context;
        const limit = isAsynchronous(database) ? { withinMs: HAND_OVER_MS } : {};
        if ((await requestedIn(tx, operationId, phase)) !== undefined) return { hosts: [], ...limit };
        const nodes = await findNodes(tx, database.account_id, database.id);
        const { settled_at } = await findOperation(tx, operationId);
        if (settled_at !== null || !areThere(nodes)) return "it was asked for something else meanwhile.";
        const chosen = choosePrimary(await observeMembers(tx, database, { now: clock() }));
        if ("refused" in chosen) return chosen.refused;
        if (isAsynchronous(database)) {
          const given = await handOver(tx, { ...context, zone }, { phase, to: chosen.to, at: clock() });
          return typeof given === "string" ? given : { ...given, ...limit };
        }
        const own = nodes.filter(({ id }) => id === chosen.to);
        const orders = { [chosen.to]: { make_primary: orderId(operationId, phase) } };
        return setDesiredSpecs(tx, operationId, phase, await specsOf(tx, own, { ...context, zone, orders }));
      });
    if (typeof outcome === "string") return { state: "refused", why: outcome };
    await wakeHosts(db, outcome);
    return { state: "requested", ...(outcome.withinMs === undefined ? {} : { withinMs: outcome.withinMs }) };
  },

  /** True when the requested member is primary and another host confirms it. */
  checkPrimary: (operationId: number, phase: string): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const requested = await requestedIn(tx, operationId, phase);
      if (requested === undefined) return false;
      return isPrimary({ report: (await reportsOf(tx, [{ id: requested.node }])).get(requested.node) ?? null });
    }),

  /** Withdraws the request, whether the member is primary or not: a late change must not move clients again. */
  endPrimaryRequest: async (operationId: number, phase: string): Promise<void> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      return takeBack(tx, { ...context, zone }, phase, clock());
    });
    await wakeHosts(db, toWake);
  },

  settleSwitchover: async (operationId: number, settlement: Settlement): Promise<void> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const operation = await settle(tx, operationId, settlement, clock());
      if (operation === undefined) return { hosts: [] };
      const { account_id, id, status } = context.database;
      await saveDatabase(tx, account_id, id, {
        status: statusAfter("switchover", status, settlement),
        updated_at: clock(),
      });
      const without = await takeBack(tx, { ...context, zone }, ONLY_TRY, clock());
      await checkSoon(tx, context.database, clock());
      return without;
    });
    await wakeHosts(db, toWake);
  },
});
export type SwitchActivities = ReturnType<typeof createSwitchActivities>;

type Context = SpecContext & { operation: { id: number } };

async function takeBack(tx: Tx, context: Context, phase: string, at: Date): Promise<HostsToWake> {
  const { database, operation } = context;
  const requested = await requestedIn(tx, operation.id, phase);
  if (isAsynchronous(database)) {
    const members = await observeMembers(tx, database, { now: at });
    return endHandOver(tx, context, { phase, requested: members.find(({ node }) => node === requested?.node), at });
  }
  const nodes = await findNodes(tx, database.account_id, database.id);
  const own = nodes.filter(({ id, tombstoned }) => id === requested?.node && !tombstoned);
  return setDesiredSpecs(tx, operation.id, `ended ${phase}`, await specsOf(tx, own, context));
}

/** Withdraws the open requests of an operation that is given up. */
export async function endTries(tx: Tx, context: Context, at: Date): Promise<HostsToWake> {
  const phases = (await findPhases(tx, context.operation.id)).map(({ phase }) => phase);
  const open = phases.filter((phase) => phase.startsWith(SWITCH_PHASE) && !phases.includes(`ended ${phase}`));
  const hosts: number[] = [];
  for (const phase of open) hosts.push(...(await takeBack(tx, context, phase, at)).hosts);
  return { hosts };
}

/** The node that this phase requests as primary. */
async function requestedIn(tx: Tx, operationId: number, phase: string): Promise<DesiredNode | undefined> {
  const row = await tx
    .selectFrom("desired_phases")
    .select("nodes")
    .where("operation_id", "=", operationId)
    .where("phase", "=", phase)
    .executeTakeFirst();
  return row?.nodes[0];
}
