import { type Generation, isNewer, type NodeSpec } from "@moorage/contract/agent";
import type * as contract from "@moorage/contract/operator";
import type { NodeRow, UntimedSpec } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { findEngineVersion, findPlan } from "#regions/index.ts";
import { withOwnVersion } from "../spec/own-version.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import type { ArchiveSettings } from "../model/timeline-store.ts";
import { findArchiveContext } from "../model/timeline-store.ts";
import { specsOf } from "../spec/desired-specs.ts";

/** What a recovery has found. `refused`: nodes whose host reported a spec that was not sent to it. */
export type Recovery = Omit<contract.Recovery, "plan" | "epoch" | "hosts">;
export const emptyRecovery = (): Recovery => ({
  kept: 0,
  adopted: [],
  deleted: [],
  missing: [],
  orphans: [],
  refused: [],
});

export type Context = {
  tx: Tx;
  sealer: Sealer;
  zone: string;
  archive: ArchiveSettings;
  /** How long a deleted database can be brought back. */
  undeleteDays: number;
  epoch: number;
  now: Date;
  found: Recovery;
};

export const isSame = (database: DatabaseRow, { database: reported }: NodeSpec): boolean =>
  database.account_id === reported.account && database.created_at.toISOString() === reported.created;

export const findById = (tx: Tx, { database: { account, id } }: NodeSpec): Promise<DatabaseRow | undefined> =>
  tx
    .selectFrom("databases")
    .selectAll()
    .where("account_id", "=", account)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();

export async function findSame(tx: Tx, spec: NodeSpec): Promise<DatabaseRow | undefined> {
  const found = await findById(tx, spec);
  return found !== undefined && isSame(found, spec) ? found : undefined;
}

/** The spec on the host's disk is of a desired state that our restored row has not seen: the host counts. */
export const isLaterThan = (
  reported: Generation,
  row: { desired_epoch: number; desired_generation: number },
): boolean => isNewer(reported, { epoch: row.desired_epoch, generation: row.desired_generation });

export const untimed = ({ epoch: _epoch, generation: _generation, ...spec }: NodeSpec): UntimedSpec => spec;

/** The desired spec of a node by its database's present row. */
export async function specOf(
  { tx, zone, archive }: Context,
  node: NodeRow,
  database: DatabaseRow,
  reported?: NodeSpec,
) {
  const [plan, engine] = [await findPlan(tx, database.plan), await findEngineVersion(tx, database.engine_version)];
  if (plan === undefined || engine === undefined)
    throw new Error(`Database ${database.id} names a plan or engine that does not exist.`);
  const archiveContext = await findArchiveContext(tx, database, archive);
  const [ours] = await specsOf(tx, [node], {
    database,
    plan,
    engine,
    zone,
    archiveContext,
    reportedCluster: reported?.cluster,
  });
  if (ours === undefined) throw new Error(`Node ${node.id} has no host.`);
  // A rolling change may have been under way: size and image are those of its own host.
  const isLater = reported?.node === node.id && (node.desired_spec === null || isNewer(reported, node.desired_spec));
  const spec = isLater && reported.cluster !== undefined ? withOwnVersion(ours, { desired_spec: reported }) : ours;
  // A deletion in progress stays one.
  const tombstone =
    node.desired_spec?.tombstone ??
    (node.tombstoned && node.waiting_operation_id !== null ? { operation: node.waiting_operation_id } : undefined);
  return tombstone === undefined ? spec : { ...spec, tombstone };
}
