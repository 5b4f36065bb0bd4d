import { recordPlace, rewriteSealedRecord, saveSealedRecord, takeSealedRecord } from "#auth/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import type { Person } from "./user-store.ts";

/** Short-lived state of sign-ins. It is stored and swept with the records of the authorization server. */
export type RecordDeps = { clock: Clock; sealer: Sealer };
type Payloads = { SignIn: { tries: number }; Challenge: { of: string }; Device: Record<string, never> };
type Model = keyof Payloads;
type Named<M extends Model> = { model: M; key: string };
type Found<M extends Model> = { person: Person | undefined; payload: Payloads[M] };

/** Replaces a record with the same key. */
export async function saveRecord<M extends Model>(
  db: Db | Tx,
  { clock, sealer }: RecordDeps,
  { model, key, person, minutes, payload }: Named<M> & { person?: Person; minutes: number; payload: Payloads[M] },
): Promise<void> {
  await saveSealedRecord(db, {
    model,
    key,
    person,
    payload: sealer.seal(recordPlace(model, sha256(key)), JSON.stringify(payload)),
    expiresAt: new Date(clock().getTime() + minutes * 60_000),
  });
}

const opened = <M extends Model>(
  sealer: Sealer,
  model: M,
  hash: Buffer,
  row: { account_id: number | null; user_id: number | null; payload: string },
): Found<M> => ({
  person:
    row.account_id === null || row.user_id === null ? undefined : { accountId: row.account_id, userId: row.user_id },
  payload: JSON.parse(sealer.open(recordPlace(model, hash), row.payload)) as Payloads[M],
});

export async function findRecord<M extends Model>(
  db: Db | Tx,
  { clock, sealer }: RecordDeps,
  { model, key }: Named<M>,
  lock?: "for update",
): Promise<Found<M> | undefined> {
  const hash = sha256(key);
  const row = await db
    .selectFrom("auth_records")
    .select(["account_id", "user_id", "payload"])
    .where("model", "=", model)
    .where("key_sha256", "=", hash)
    .where("expires_at", ">", clock())
    .$if(lock !== undefined, (query) => query.forUpdate())
    .executeTakeFirst();
  return row === undefined ? undefined : opened(sealer, model, hash, row);
}

/** Keeps its expiry. */
export async function rewriteRecord<M extends Model>(
  tx: Tx,
  { sealer }: RecordDeps,
  { model, key, payload }: Named<M> & { payload: Payloads[M] },
): Promise<void> {
  const sealed = sealer.seal(recordPlace(model, sha256(key)), JSON.stringify(payload));
  await rewriteSealedRecord(tx, { model, key }, sealed);
}

/** Works once: of two concurrent callers, one gets it. */
export async function takeRecord<M extends Model>(
  db: Db | Tx,
  { clock, sealer }: RecordDeps,
  { model, key }: Named<M>,
): Promise<Found<M> | undefined> {
  const row = await takeSealedRecord(db, { model, key });
  return row === undefined || row.expires_at <= clock() ? undefined : opened(sealer, model, sha256(key), row);
}
