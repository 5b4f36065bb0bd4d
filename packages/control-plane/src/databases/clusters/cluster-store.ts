import type { NodeRow } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";

type Owner = { account_id: number; id: number };

/** Binds the sealed password of the members' account to its row: it cannot be opened in another one. */
const groupPasswordPlace = ({ account_id, id }: Owner): (string | number)[] => [
  "clusters.group_password",
  account_id,
  id,
];

/**
 * Writes the rows of a cluster and of its members. Repeatable: the password of the members' account is created once.
 * The hosts keep it, so a row that is written again after a loss must have the same one: it is derived from the key.
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

/** Repeatable: existing members stay as they are. */
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

/** Another node replaced the member: it does not count any more, and a tombstone removes it. */
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
