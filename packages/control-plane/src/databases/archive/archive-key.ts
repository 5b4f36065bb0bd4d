import { generateX25519Identity, identityToRecipient } from "age-encryption";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";

type Owner = { account_id: number; id: number };

/** Binds the sealed archive key to its row: it cannot be opened in another one. */
const identityPlace = ({ account_id, id }: Owner): (string | number)[] => ["archives.identity", account_id, id];

/**
 * The archive key of a database. Created once: objects encrypted to an earlier key could not be read any more. X25519,
 * because `age` on the hosts supports no newer kind.
 */
export async function createArchiveKey(tx: Tx, sealer: Sealer, database: Owner): Promise<{ recipient: string }> {
  const identity = await generateX25519Identity();
  const { account_id, id } = database;
  await tx
    .insertInto("archives")
    .values({
      account_id,
      database_id: id,
      recipient: await identityToRecipient(identity),
      identity: sealer.seal(identityPlace(database), identity),
    })
    .onConflict((conflict) => conflict.columns(["account_id", "database_id"]).doNothing())
    .execute();
  return tx
    .selectFrom("archives")
    .select("recipient")
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .executeTakeFirstOrThrow();
}

/** Whoever has this key can read the database's whole archive. */
export async function openArchiveKey(db: Db | Tx, sealer: Sealer, database: Owner): Promise<string> {
  const { identity } = await db
    .selectFrom("archives")
    .select("identity")
    .where("account_id", "=", database.account_id)
    .where("database_id", "=", database.id)
    .executeTakeFirstOrThrow();
  return sealer.open(identityPlace(database), identity);
}
