import { generateX25519Identity, identityToRecipient } from "age-encryption";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";

type Owner = { account_id: number; id: number };

/** What an archive's key is bound to: in another row it does not open. */
const identityPlace = ({ account_id, id }: Owner): (string | number)[] => ["archives.identity", account_id, id];

/**
 * The key of all that is stored of a database, made once: what was encrypted to an earlier one could not be read again.
 * X25519, because the `age` on hosts knows no newer kind.
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

/** Whoever has it reads everything that is stored of the database. */
export async function openArchiveKey(db: Db | Tx, sealer: Sealer, database: Owner): Promise<string> {
  const { identity } = await db
    .selectFrom("archives")
    .select("identity")
    .where("account_id", "=", database.account_id)
    .where("database_id", "=", database.id)
    .executeTakeFirstOrThrow();
  return sealer.open(identityPlace(database), identity);
}
