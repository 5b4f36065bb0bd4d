import { findNodes, findPhases, type Wanted, want } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { WantedNode } from "#platform/db/tables.ts";
import type { ActivityDeps } from "../../activities.ts";
import { statusAfter } from "../../database.ts";
import { saveDatabase } from "../../database-store.ts";
import { type Settlement, settle } from "../../settle.ts";
import { areThere, loadDatabase, type SpecContext, specsOf, wakeHosts } from "../../want-specs.ts";
import { isAsynchronous } from "../cluster-spec.ts";
import { endHandOver, HAND_OVER_MS, handOver, leads } from "../leaders/hand-over.ts";
import { lookSoon } from "./look-store.ts";
import { orderId } from "./order-id.ts";
import { reportsOf } from "./report-store.ts";
import { seeMembers } from "./see-cluster.ts";
import { chooseLeader } from "./switchable.ts";
import { LEAD_PHASE } from "./tell-changes.ts";

/** Of a switchover that was asked for by itself. */
const ONLY_TRY = `${LEAD_PHASE}1`;

/** `refused`: nobody was asked to lead. `withinMs`: so long the try may last, if its operation does. */
export type Led = { state: "wanted"; withinMs?: number } | { state: "refused"; why: string };

/** The steps of a planned change of the primary, in any operation of a database. A phase names one try. */
export const createSwitchActivities = ({ db, clock, zone, archive }: Omit<ActivityDeps, "sealer">) => ({
  wantLead: async (operationId: number, phase: string): Promise<Led> => {
    if (!phase.startsWith(LEAD_PHASE)) throw new Error(`${phase} is no phase in which another is to lead.`);
    const led = await db.transaction().execute(async (tx): Promise<(Wanted & { withinMs?: number }) | string> => {
      const context = await loadDatabase(tx, operationId, archive);
      const { database } = context;
      const limit = isAsynchronous(database) ? { withinMs: HAND_OVER_MS } : {};
      if ((await wantedIn(tx, operationId, phase)) !== undefined) return { hosts: [], ...limit };
      const nodes = await findNodes(tx, database.account_id, database.id);
      const { settled_at } = await findOperation(tx, operationId);
      if (settled_at !== null || !areThere(nodes)) return "it was asked for something else meanwhile.";
      const chosen = chooseLeader(await seeMembers(tx, database, { now: clock() }));
      if ("refused" in chosen) return chosen.refused;
      if (isAsynchronous(database)) {
        const given = await handOver(tx, { ...context, zone }, { phase, to: chosen.to, at: clock() });
        return typeof given === "string" ? given : { ...given, ...limit };
      }
      const own = nodes.filter(({ id }) => id === chosen.to);
      const orders = { [chosen.to]: { lead: orderId(operationId, phase) } };
      return want(tx, operationId, phase, await specsOf(tx, own, { ...context, zone, orders }));
    });
    if (typeof led === "string") return { state: "refused", why: led };
    await wakeHosts(db, led);
    return { state: "wanted", ...(led.withinMs === undefined ? {} : { withinMs: led.withinMs }) };
  },

  /** Whether the group has followed: the one that was asked leads, and another host sees it too. */
  checkLead: (operationId: number, phase: string): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const asked = await wantedIn(tx, operationId, phase);
      if (asked === undefined) return false;
      return leads({ report: (await reportsOf(tx, [{ id: asked.node }])).get(asked.node) ?? null });
    }),

  /** It is not asked to lead any more, whether it does or not: what comes late must not move clients again. */
  endLead: async (operationId: number, phase: string): Promise<void> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      return takeBack(tx, { ...context, zone }, phase, clock());
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
      const without = await takeBack(tx, { ...context, zone }, ONLY_TRY, clock());
      await lookSoon(tx, context.database, clock());
      return without;
    });
    await wakeHosts(db, wanted);
  },
});
export type SwitchActivities = ReturnType<typeof createSwitchActivities>;

type Context = SpecContext & { operation: { id: number } };

async function takeBack(tx: Tx, context: Context, phase: string, at: Date): Promise<Wanted> {
  const { database, operation } = context;
  const asked = await wantedIn(tx, operation.id, phase);
  if (isAsynchronous(database)) {
    const members = await seeMembers(tx, database, { now: at });
    return endHandOver(tx, context, { phase, asked: members.find(({ node }) => node === asked?.node), at });
  }
  const nodes = await findNodes(tx, database.account_id, database.id);
  const own = nodes.filter(({ id, tombstoned }) => id === asked?.node && !tombstoned);
  return want(tx, operation.id, `led ${phase}`, await specsOf(tx, own, context));
}

/** Whoever was asked to lead by an operation that is given up is not asked any more. */
export async function endTries(tx: Tx, context: Context, at: Date): Promise<Wanted> {
  const phases = (await findPhases(tx, context.operation.id)).map(({ phase }) => phase);
  const open = phases.filter((phase) => phase.startsWith(LEAD_PHASE) && !phases.includes(`led ${phase}`));
  const hosts: number[] = [];
  for (const phase of open) hosts.push(...(await takeBack(tx, context, phase, at)).hosts);
  return { hosts };
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
