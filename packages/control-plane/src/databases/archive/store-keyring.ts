import { type KeyringRequest, PROTOCOL } from "@moorage/contract/agent";
import { findServedNode } from "#fleet/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import type { Sealer } from "#platform/seal.ts";
import { targetOf } from "../entity.ts";

/** Binds a node's sealed keys to their row: they cannot be opened in another one. */
const keyringPlace = (accountId: number, nodeId: string): (string | number)[] => [
  "keyrings.keyring",
  accountId,
  nodeId,
];

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
