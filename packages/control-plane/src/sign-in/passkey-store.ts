import type { Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Person } from "./user-store.ts";

export type PasskeyRow = Selectable<Tables["passkeys"]>;

export const listPasskeys = (db: Db | Tx, { accountId, userId }: Person): Promise<PasskeyRow[]> =>
  db
    .selectFrom("passkeys")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .orderBy("id")
    .execute();

/** Credential ids are globally unique; the row says whose it is. */
export const findPasskey = (db: Db, credentialId: Buffer): Promise<PasskeyRow | undefined> =>
  db.selectFrom("passkeys").selectAll().where("credential_id", "=", credentialId).executeTakeFirst();

/** False: the credential is registered already. */
export async function savePasskey(tx: Tx, passkey: Omit<PasskeyRow, "id" | "used_at">): Promise<boolean> {
  const saved = await tx
    .insertInto("passkeys")
    .values({ ...passkey, used_at: null })
    .onConflict((conflict) => conflict.column("credential_id").doNothing())
    .returning("id")
    .executeTakeFirst();
  return saved !== undefined;
}

/**
 * A counter that does not grow means a cloned authenticator or a replay; many authenticators do not count and always
 * send 0.
 */
export async function usePasskey(db: Db, { account_id, id }: PasskeyRow, counter: number, now: Date): Promise<boolean> {
  const used = await db
    .updateTable("passkeys")
    .set({ counter, used_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where(({ or, eb, and, val }) =>
      or([eb("counter", "<", counter), and([eb("counter", "=", 0), eb(val(counter), "=", 0)])]),
    )
    .returning("id")
    .executeTakeFirst();
  return used !== undefined;
}

export async function deletePasskey(tx: Tx, { accountId, userId }: Person, id: number): Promise<boolean> {
  const deleted = await tx
    .deleteFrom("passkeys")
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  return deleted !== undefined;
}
