import type { NodeRow } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";

type Owner = { account_id: number; id: number };

/** What the password of the members' account is bound to: in another row it does not open. */
const groupPasswordPlace = ({ account_id, id }: Owner): (string | number)[] => [
  "clusters.group_password",
  account_id,
  id,
];

/**
 * Rows of a cluster and of those nodes as its members. Repeatable: the password of the members' account is made once.
 * Their hosts keep it, so one that is written again after its row was lost must be the same: it follows from the key.
 */
export async function createCluster(
  tx: Tx,
  sealer: Sealer,
  database: Owner & { created_at: Date },
  nodes: readonly Pick<NodeRow, "id">[],
): Promise<void> {
  const { account_id, id, created_at } = database;
  const place = groupPasswordPlace(database);
  const password = sealer.derive([...place, created_at.toISOString()]);
  await tx
    .insertInto("clusters")
    .values({ account_id, database_id: id, group_password: sealer.seal(place, password) })
    .onConflict((conflict) => conflict.column("database_id").doNothing())
    .execute();
  await addMembers(tx, database, nodes);
}

/** Repeatable: what is known of a member stays. */
export async function addMembers(
  tx: Tx,
  { account_id, id }: Owner,
  nodes: readonly Pick<NodeRow, "id">[],
): Promise<void> {
  if (nodes.length === 0) return;
  await tx
    .insertInto("members")
    .values(nodes.map((node) => ({ account_id, node_id: node.id, database_id: id })))
    .onConflict((conflict) => conflict.column("node_id").doNothing())
    .execute();
}

/** Another took its place: it does not count any more, and goes by its tombstone. */
export const markReplaced = (tx: Tx, node: string, at: Date): Promise<unknown> =>
  tx
    .updateTable("members")
    .set({ replaced_at: at })
    .where("node_id", "=", node)
    .where("replaced_at", "is", null)
    .execute();

/** Undefined for a database of one node. */
export async function openGroupPassword(db: Db | Tx, sealer: Sealer, owner: Owner): Promise<string | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select("group_password")
    .where("account_id", "=", owner.account_id)
    .where("database_id", "=", owner.id)
    .executeTakeFirst();
  return row === undefined ? undefined : sealer.open(groupPasswordPlace(owner), row.group_password);
}
