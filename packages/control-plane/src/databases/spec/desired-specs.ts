import type { Cluster } from "@moorage/contract/agent";
import {
  findHost,
  findNodes,
  type NodeRow,
  type Share,
  type UntimedSpec,
  type HostsToWake,
  setDesiredSpecs,
} from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { findEngineVersion, findPlan } from "#regions/index.ts";
import { assignArchiver } from "./archiver-store.ts";
import { clusterOf, type OrdersOf } from "./cluster-spec.ts";
import { isCluster } from "../model/database.ts";
import { withOwnVersion } from "./own-version.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { nodeSpec } from "./node-spec.ts";
import { type ArchiveSettings } from "../model/timeline-store.ts";
import { type ArchiveContext } from "../model/timeline-store.ts";
import { findArchiveContext } from "../model/timeline-store.ts";

/** The database of an operation, locked, and everything that its nodes' specs are made from. */
export async function loadDatabase(tx: Tx, operationId: number, archive: ArchiveSettings) {
  const { account_id, entity_id } = await findOperation(tx, operationId);
  const database = await lockDatabase(tx, account_id, entity_id);
  // Read under the row's lock: a step of an operation that has ended meanwhile must have no effect.
  const operation = await findOperation(tx, operationId);
  const isOpen = operation.settled_at === null;
  const [plan, engine] = [await findPlan(tx, database.plan), await findEngineVersion(tx, database.engine_version)];
  if (plan === undefined || engine === undefined)
    throw new Error(`Database ${database.id} names a plan or engine that does not exist.`);
  return { operation, isOpen, database, plan, engine, archiveContext: await findArchiveContext(tx, database, archive) };
}

export type SpecContext = {
  database: DatabaseRow;
  zone: string;
  archiveContext?: ArchiveContext | undefined;
  /** In a cluster: the orders of its members. An order that is absent is withdrawn. */
  orders?: OrdersOf;
  /** The cluster as a host reported it, for members and a primary whose rows are lost. */
  reportedCluster?: Cluster | undefined;
  /** In a cluster: these nodes take the size and image of the row. Otherwise each keeps its own. */
  useRowVersion?: boolean;
} & Pick<Awaited<ReturnType<typeof loadDatabase>>, "plan" | "engine">;

/** The specs with which an operation removes nodes. */
export const tombstonesOf = async (
  tx: Tx,
  nodes: readonly NodeRow[],
  context: SpecContext & { operation: { id: number } },
): Promise<UntimedSpec[]> =>
  (await specsOf(tx, nodes, context)).map((spec) => ({ ...spec, tombstone: { operation: context.operation.id } }));

export async function specsOf(tx: Tx, nodes: readonly NodeRow[], context: SpecContext): Promise<UntimedSpec[]> {
  const { database, archiveContext, orders = {}, reportedCluster } = context;
  const cluster =
    isCluster(database) && archiveContext !== undefined
      ? await clusterOf(tx, database, archiveContext.timeline.id, reportedCluster)
      : undefined;
  const archiver = cluster && archiveContext && (await assignArchiver(tx, archiveContext.timeline));
  const specs: UntimedSpec[] = [];
  for (const node of nodes) {
    const host = await findHost(tx, node.host_id);
    const tasks = unfinishedTasks(node);
    const { makes = false, ...own } = orders[node.id] ?? {};
    const asRow = nodeSpec(node, {
      ...context,
      nodeNetwork: host.node_network,
      cluster: cluster && { ...cluster, ...own },
      makes,
      archiver,
    });
    const spec = cluster === undefined || context.useRowVersion === true ? asRow : withOwnVersion(asRow, node);
    specs.push(tasks.length === 0 ? spec : { ...spec, tasks });
  }
  return specs;
}

/** Tasks that somebody waits for continue, whatever else changes in the spec. */
const unfinishedTasks = ({ desired_spec, observed_tasks }: NodeRow): NonNullable<UntimedSpec["tasks"]> =>
  (desired_spec?.tasks ?? []).filter(
    ({ id }) => !observed_tasks.some((task) => task.id === id && task.state !== "working"),
  );

/**
 * Sets the desired state of all nodes of a database from its row. Undefined where a spec would do harm: an empty node
 * in the place of a lost one, or one brought back from its tombstone.
 */
export async function setDesiredFromRow(
  tx: Tx,
  operationId: number,
  phase: string,
  context: SpecContext,
  share?: Share,
): Promise<HostsToWake | undefined> {
  const nodes = await findNodes(tx, context.database.account_id, context.database.id);
  if (!areThere(nodes)) return undefined;
  return setDesiredSpecs(tx, operationId, phase, await specsOf(tx, nodes, context), share);
}

/** False: a host has lost a node, or is to remove it. */
export const areThere = (nodes: readonly NodeRow[]): boolean =>
  nodes.length > 0 && nodes.every(({ desired_spec, tombstoned }) => desired_spec !== null && !tombstoned);

/** Only a hint: a host that misses it gets the change with its next poll. */
export const wakeHosts = async (db: Db | Tx, { hosts }: { hosts: readonly number[] }): Promise<void> => {
  for (const id of hosts) await notify(db, "host", String(id));
};
