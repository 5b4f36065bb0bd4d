import { type KeyringRequest, PROTOCOL } from "@moorage/contract/agent";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { findServedNode } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { targetOf } from "../model/entity.ts";
import { identityPlace, keyringPlace } from "./sealed-columns.ts";

type Owner = { account_id: number; id: number };

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

/** Stores the keys before anything is encrypted with them: without them the node's volume cannot be read. */
export const storeKeyring = (
  { db, clock, sealer }: { db: Db; clock: Clock; sealer: Sealer },
  hostId: number,
  { node, keyring }: KeyringRequest,
): Promise<{ protocol: typeof PROTOCOL }> =>
  transact(db, "fleet.keyring", async (tx) => {
    const { account_id, database_id } = await findServedNode(tx, hostId, node);
    const sealed = { keyring: sealer.seal(keyringPlace(account_id, node), keyring), reported_at: clock() };
    await tx
      .insertInto("keyrings")
      .values({ account_id, node_id: node, ...sealed })
      .onConflict((conflict) => conflict.column("node_id").doUpdateSet(sealed))
      .execute();
    await audit(tx, {
      at: clock(),
      account: account_id,
      actor: `host-${hostId}`,
      action: "store_keyring",
      target: targetOf(database_id),
      detail: { node },
    });
    return { protocol: PROTOCOL };
  });

/** The last known keys of a node, base64. */
export async function openKeyring(db: Db, sealer: Sealer, accountId: number, nodeId: string) {
  const row = await db
    .selectFrom("keyrings")
    .select("keyring")
    .where("node_id", "=", nodeId)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  return row === undefined ? undefined : sealer.open(keyringPlace(accountId, nodeId), row.keyring);
}
