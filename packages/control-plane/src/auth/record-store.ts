import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { liveAppGrants } from "./app-grant-store.ts";
import type { Person } from "./interactions.ts";
import type { AppGrantRef } from "./names.ts";
import { recordPlace } from "./sealed-columns.ts";

/** State of the provider. Its name is a secret, so only the hash is stored, and the payload is sealed. */
export type AuthRecord = {
  model: string;
  id: string;
  payload: object;
  person: Person | undefined;
  appGrant?: AppGrantRef | undefined;
  uid?: string | undefined;
  expiresAt: Date;
};

type Found = { payload: string; key_sha256: Buffer; consumed_at: Date | null };

/** Replaces a record of the same name. */
export async function saveRecord(db: Db | Tx, sealer: Sealer, record: AuthRecord): Promise<void> {
  const row = rowOf(sealer, record);
  await db
    .insertInto("auth_records")
    .values({ ...row, consumed_at: null })
    .onConflict((conflict) => conflict.columns(["model", "key_sha256"]).doUpdateSet(row))
    .execute();
}

/**
 * Saves a record under the same or a new name, but only if it still exists: a record that was ended meanwhile stays
 * ended.
 */
export async function rewriteRecord(db: Db | Tx, sealer: Sealer, record: AuthRecord, formerKey: string): Promise<void> {
  const row = rowOf(sealer, record);
  await db
    .updateTable("auth_records")
    .set(row)
    .where("model", "=", record.model)
    .where("key_sha256", "in", [row.key_sha256, Buffer.from(formerKey, "hex")])
    .execute();
}

/** Only while no person has decided it. False: somebody else was first. */
export async function decideRecord(db: Db, sealer: Sealer, record: AuthRecord): Promise<boolean> {
  const row = rowOf(sealer, record);
  const decided = await db
    .updateTable("auth_records")
    .set(row)
    .where("model", "=", record.model)
    .where("key_sha256", "=", row.key_sha256)
    .where("account_id", "is", null)
    .returning("model")
    .executeTakeFirst();
  return decided !== undefined;
}

const rowOf = (sealer: Sealer, { model, id, payload, person, appGrant, uid, expiresAt }: AuthRecord) => {
  const key = sha256(id);
  return {
    model,
    key_sha256: key,
    account_id: person?.accountId ?? null,
    user_id: person?.userId ?? null,
    app_grant_id: appGrant?.id ?? null,
    uid_sha256: uid === undefined ? null : sha256(uid),
    payload: sealer.seal(recordPlace(model, key), JSON.stringify(payload)),
    expires_at: expiresAt,
  };
};

/** Records of a closed account are not found: their users have to start again. */
export async function findRecord(db: Db, sealer: Sealer, model: string, by: { id: string } | { uid: string }) {
  const row = await db
    .selectFrom("auth_records")
    .leftJoin("accounts", "accounts.id", "auth_records.account_id")
    .select(["payload", "key_sha256", "consumed_at"])
    .where("model", "=", model)
    .where("accounts.closed_at", "is", null)
    .where((where) => where.and("id" in by ? { key_sha256: sha256(by.id) } : { uid_sha256: sha256(by.uid) }))
    .executeTakeFirst();
  return opened(sealer, model, row);
}

/** Serializes changes of one record. */
export async function lockRecord(tx: Tx, sealer: Sealer, model: string, id: string) {
  const row = await tx
    .selectFrom("auth_records")
    .select(["payload", "key_sha256", "consumed_at"])
    .where("model", "=", model)
    .where("key_sha256", "=", sha256(id))
    .forUpdate()
    .executeTakeFirst();
  return opened(sealer, model, row);
}

/** Of two concurrent callers, one gets the record. */
export async function takeRecord(db: Db, sealer: Sealer, model: string, id: string) {
  const row = await db
    .deleteFrom("auth_records")
    .where("model", "=", model)
    .where("key_sha256", "=", sha256(id))
    .returning(["payload", "key_sha256", "consumed_at"])
    .executeTakeFirst();
  return opened(sealer, model, row);
}

/** A record of an app grant is found only while the grant is valid. */
export async function findGrantedRecord(db: Db, sealer: Sealer, model: string, id: string, now: Date) {
  const row = await liveAppGrants(db, now)
    .innerJoin("auth_records", (join) =>
      join
        .onRef("auth_records.account_id", "=", "app_grants.account_id")
        .onRef("auth_records.app_grant_id", "=", "app_grants.id"),
    )
    .select(["auth_records.payload", "auth_records.key_sha256", "auth_records.consumed_at"])
    .where("auth_records.model", "=", model)
    .where("auth_records.key_sha256", "=", sha256(id))
    .executeTakeFirst();
  return opened(sealer, model, row);
}

const opened = (sealer: Sealer, model: string, row: Found | undefined) =>
  row === undefined
    ? undefined
    : {
        payload: JSON.parse(sealer.open(recordPlace(model, row.key_sha256), row.payload)) as Record<string, unknown>,
        key: row.key_sha256.toString("hex"),
        consumedAt: row.consumed_at,
      };

/**
 * Marks a record as used, which succeeds once: of several concurrent callers one succeeds. The others get its grant,
 * and that it was used before.
 */
export async function useRecord(
  db: Db,
  model: string,
  id: string,
  at: Date,
): Promise<"used" | { usedBefore: AppGrantRef | undefined }> {
  const record = { model, key_sha256: sha256(id) };
  const used = await db
    .updateTable("auth_records")
    .set({ consumed_at: at })
    .where((where) => where.and(record))
    .where("consumed_at", "is", null)
    .returning("model")
    .executeTakeFirst();
  if (used !== undefined) return "used";
  const before = await db
    .selectFrom("auth_records")
    .select(["account_id", "app_grant_id"])
    .where((where) => where.and(record))
    .executeTakeFirst();
  const [accountId, grantId] = [before?.account_id ?? null, before?.app_grant_id ?? null];
  return { usedBefore: accountId === null || grantId === null ? undefined : { accountId, id: grantId } };
}

export async function dropRecord(db: Db, model: string, id: string): Promise<void> {
  await db.deleteFrom("auth_records").where("model", "=", model).where("key_sha256", "=", sha256(id)).execute();
}

/** Records of other capabilities, which seal and open the payloads themselves. `key` is a secret: its hash is stored. */
type Place = { model: string; key: string };

/** Replaces a record with the same key. */
export async function saveSealedRecord(
  db: Db | Tx,
  { model, key, person, payload, expiresAt }: Place & { person: Person | undefined; payload: string; expiresAt: Date },
): Promise<void> {
  const row = {
    account_id: person?.accountId ?? null,
    user_id: person?.userId ?? null,
    payload,
    expires_at: expiresAt,
  };
  await db
    .insertInto("auth_records")
    .values({ model, key_sha256: sha256(key), app_grant_id: null, uid_sha256: null, consumed_at: null, ...row })
    .onConflict((conflict) => conflict.columns(["model", "key_sha256"]).doUpdateSet(row))
    .execute();
}

/** Keeps those of a person that expire last. */
export async function dropOlderRecords(
  tx: Tx,
  { model, person, kept, now }: { model: string; person: Person; kept: number; now: Date },
): Promise<void> {
  const ofPerson = tx
    .selectFrom("auth_records")
    .where("model", "=", model)
    .where("account_id", "=", person.accountId)
    .where("user_id", "=", person.userId)
    .where("expires_at", ">", now);
  await tx
    .deleteFrom("auth_records")
    .where("model", "=", model)
    .where("key_sha256", "in", ofPerson.select("key_sha256").orderBy("expires_at", "desc").offset(kept))
    .execute();
}

/** Keeps its expiry. */
export async function rewriteSealedRecord(tx: Tx, { model, key }: Place, payload: string): Promise<void> {
  await tx
    .updateTable("auth_records")
    .set({ payload })
    .where("model", "=", model)
    .where("key_sha256", "=", sha256(key))
    .execute();
}

/** Of two concurrent callers, one gets the record. It may have expired. */
export const takeSealedRecord = (db: Db | Tx, { model, key }: Place) =>
  db
    .deleteFrom("auth_records")
    .where("model", "=", model)
    .where("key_sha256", "=", sha256(key))
    .returning(["account_id", "user_id", "payload", "expires_at"])
    .executeTakeFirst();
