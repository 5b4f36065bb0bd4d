import { agreedPrimary } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { checkSoon, findNodes, findPhases, type HostsToWake, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import { type Change, type Engine, inOperation, type Taken } from "../../changes/change.ts";
import { saveDatabase } from "../../model/database-store.ts";
import { isAsynchronous, statusAfter } from "../../model/database.ts";
import { areThere, type SpecContext, specsOf } from "../../spec/desired-specs.ts";
import { reportsOf } from "../../spec/primary-store.ts";
import { endHandOver, HAND_OVER_MS, handOver } from "../async-primary/hand-over.ts";
import { isPrimary } from "../async-primary/hand-over-rules.ts";
import { conditionOf, type ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";
import { SWITCH_PHASE } from "./notify-changes.ts";
import { observeMembers } from "./observe-cluster.ts";
import { orderId } from "./order-id.ts";

/** The next primary must first apply what it has received, and clients wait as long. */
const MOST_BACKLOG_SECONDS = 5;
/** The only attempt of a switchover that is an operation of its own. */
const ONLY_TRY = `${SWITCH_PHASE}1`;

/**
 * `refused`: no member was requested to become primary. `withinMs`: the limit of the attempt, within its operation's.
 */
type PrimaryRequest = { state: "requested"; withinMs?: number } | { state: "refused"; why: string };

type Switchable = { to: string } | { refused: Text };
type Context = SpecContext & { operation: { id: number } };

/**
 * The steps of a planned change of the primary, in any operation of a database. Each attempt has a phase of its own.
 */
export const createSwitchActivities = (engine: Engine) => ({
  requestPrimary: (operationId: number, phase: string): Promise<PrimaryRequest> =>
    inOperation(engine, operationId, async (tx, context): Promise<Taken<PrimaryRequest>> => {
      if (!phase.startsWith(SWITCH_PHASE)) throw new Error(`${phase} is no phase of a switchover.`);
      const { database, isOpen } = context;
      const answer = {
        state: "requested",
        ...(isAsynchronous(database) ? { withinMs: HAND_OVER_MS } : {}),
      } as const;
      if ((await requestedIn(tx, operationId, phase)) !== undefined) return { answer };
      const nodes = await findNodes(tx, database.account_id, database.id);
      if (!isOpen || !areThere(nodes)) return refused(texts.operationOvertaken().text);
      const chosen = choosePrimary(await observeMembers(tx, database, { now: engine.clock() }));
      if ("refused" in chosen) return refused(chosen.refused.text);
      if (isAsynchronous(database)) {
        const given = await handOver(tx, context, { phase, to: chosen.to, at: engine.clock() });
        return typeof given === "string" ? refused(given) : { answer, hosts: given.hosts };
      }
      const own = nodes.filter(({ id }) => id === chosen.to);
      const orders = { [chosen.to]: { make_primary: orderId(operationId, phase) } };
      const specs = await specsOf(tx, own, { ...context, orders });
      return { answer, hosts: (await setDesiredSpecs(tx, operationId, phase, specs)).hosts };
    }),

  /** True when the requested member is primary and another host confirms it. */
  checkPrimary: (operationId: number, phase: string): Promise<boolean> =>
    engine.db.transaction().execute(async (tx) => {
      const requested = await requestedIn(tx, operationId, phase);
      if (requested === undefined) return false;
      return isPrimary({ report: (await reportsOf(tx, [{ id: requested.node }])).get(requested.node) ?? null });
    }),

  /** Withdraws the request, whether the member is primary or not: a late change must not move clients again. */
  endPrimaryRequest: (operationId: number, phase: string): Promise<void> =>
    inOperation(engine, operationId, async (tx, context) => ({
      answer: undefined,
      hosts: (await takeBack(tx, context, phase, engine.clock())).hosts,
    })),
});

export const switchover: Change = {
  kind: "switchOver",
  audited: "switch_over_database",
  events: ["database_switchover"],
  late: texts.switchoverLate,
  async end(tx, context, settlement, at) {
    const { account_id, id, status } = context.database;
    await saveDatabase(tx, account_id, id, {
      status: statusAfter("switchover", status, settlement),
      updated_at: at,
    });
    const without = await takeBack(tx, context, ONLY_TRY, at);
    await checkSoon(tx, context.database, at);
    return without;
  },
};

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

const refused = (why: string): Taken<PrimaryRequest> => ({ answer: { state: "refused", why } });

/** The next primary, or why there is none. Pure. */
export function choosePrimary(members: readonly ObservedMember[]): Switchable {
  const healthy = members.filter((member) => conditionOf(member, { hostSilentSeconds: Infinity }) === "healthy");
  if (healthy.length < 3) return { refused: texts.nodesUnhealthy({ healthy: healthy.length }) };
  const primary = agreedPrimary(healthy);
  if (primary === undefined) return { refused: texts.noAgreedPrimary() };
  const [next] = healthy
    .filter(({ node }) => node !== primary)
    .toSorted((a, b) => backlogOf(a) - backlogOf(b) || a.ordinal - b.ordinal) as [ObservedMember];
  if (backlogOf(next) <= MOST_BACKLOG_SECONDS) return { to: next.node };
  return { refused: texts.replicasBehind({ seconds: Math.ceil(backlogOf(next)), most: MOST_BACKLOG_SECONDS }) };
}

const backlogOf = ({ report }: ObservedMember): number => report?.backlog_seconds ?? 0;

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
