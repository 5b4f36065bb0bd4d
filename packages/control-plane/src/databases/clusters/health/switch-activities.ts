import { findNodes, type Wanted, want } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { WantedNode } from "#platform/db/tables.ts";
import type { ActivityDeps } from "../../activities.ts";
import { statusAfter } from "../../database.ts";
import { saveDatabase } from "../../database-store.ts";
import { type Settlement, settle } from "../../settle.ts";
import { areThere, loadDatabase, specsOf, wakeHosts } from "../../want-specs.ts";
import { lookSoon } from "./look-store.ts";
import { orderId } from "./order-id.ts";
import { reportsOf } from "./report-store.ts";
import { seeMembers } from "./see-cluster.ts";
import { chooseLeader } from "./switchable.ts";
import { LEAD_PHASE } from "./tell-changes.ts";

/** Of a switchover that was asked for by itself. */
const ONLY_TRY = `${LEAD_PHASE}1`;

/** `refused`: nobody was asked to lead. */
export type Led = { state: "wanted" } | { state: "refused"; why: string };

/** The steps of a planned change of the primary, in any operation of a database. A phase names one try. */
export const createSwitchActivities = ({ db, clock, zone, archive }: Omit<ActivityDeps, "sealer">) => ({
  wantLead: async (operationId: number, phase: string): Promise<Led> => {
    if (!phase.startsWith(LEAD_PHASE)) throw new Error(`${phase} is no phase in which another is to lead.`);
    const led = await db.transaction().execute(async (tx): Promise<{ hosts: number[] } | string> => {
      const context = await loadDatabase(tx, operationId, archive);
      const { database } = context;
      if ((await wantedIn(tx, operationId, phase)) !== undefined) return { hosts: [] };
      const nodes = await findNodes(tx, database.account_id, database.id);
      const { settled_at } = await findOperation(tx, operationId);
      if (settled_at !== null || !areThere(nodes)) return "it was asked for something else meanwhile.";
      const chosen = chooseLeader(await seeMembers(tx, database, { now: clock() }));
      if ("refused" in chosen) return chosen.refused;
      const own = nodes.filter(({ id }) => id === chosen.to);
      const orders = { [chosen.to]: { lead: orderId(operationId, phase) } };
      return want(tx, operationId, phase, await specsOf(tx, own, { ...context, zone, orders }));
    });
    if (typeof led === "string") return { state: "refused", why: led };
    await wakeHosts(db, led);
    return { state: "wanted" };
  },

  /** Whether the group has followed: the one that was asked leads, and another host sees it too. */
  checkLead: (operationId: number, phase: string): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const asked = await wantedIn(tx, operationId, phase);
      if (asked === undefined) return false;
      const report = (await reportsOf(tx, [{ id: asked.node }])).get(asked.node);
      return report?.state === "online" && report.role === "primary" && report.shared;
    }),

  /** It is not asked to lead any more, whether it does or not: what comes late must not move clients again. */
  endLead: async (operationId: number, phase: string): Promise<void> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      return takeBack(tx, { ...context, zone }, phase);
    });
    await wakeHosts(db, wanted);
  },

  settleSwitchover: async (operationId: number, settlement: Settlement): Promise<void> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const operation = await settle(tx, operationId, settlement, clock());
      if (operation === undefined) return { hosts: [] };
      const { account_id, id, status } = context.database;
      await saveDatabase(tx, account_id, id, {
        status: statusAfter("switchover", status, settlement),
        updated_at: clock(),
      });
      const without = await takeBack(tx, { ...context, zone }, ONLY_TRY);
      await lookSoon(tx, context.database, clock());
      return without;
    });
    await wakeHosts(db, wanted);
  },
});
export type SwitchActivities = ReturnType<typeof createSwitchActivities>;

type Context = Awaited<ReturnType<typeof loadDatabase>> & { zone: string };

async function takeBack(tx: Tx, context: Context, phase: string): Promise<Wanted> {
  const { database, operation } = context;
  const asked = await wantedIn(tx, operation.id, phase);
  const nodes = await findNodes(tx, database.account_id, database.id);
  const own = nodes.filter(({ id, tombstoned }) => id === asked?.node && !tombstoned);
  return want(tx, operation.id, `led ${phase}`, await specsOf(tx, own, context));
}

/** The node that was asked to lead in this phase. */
async function wantedIn(tx: Tx, operationId: number, phase: string): Promise<WantedNode | undefined> {
  const row = await tx
    .selectFrom("wanted_phases")
    .select("nodes")
    .where("operation_id", "=", operationId)
    .where("phase", "=", phase)
    .executeTakeFirst();
  return row?.nodes[0];
}
