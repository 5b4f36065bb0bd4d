import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import type { KeyUse } from "#platform/db/rewrap.ts";
import { createSealer, type KeyRing, type Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { texts } from "./texts.ts";

const HOURS_KEPT = 24;
const LONGEST_KEY = 255;
const FIELD = "Idempotency-Key";

/** A repeated request with the same Idempotency-Key gets the response of the first one, and has no further effect. */
export type Idempotency = {
  /** First in the transaction of the change: throws `Replayed` if the request was done before. */
  claim(tx: Tx): Promise<void>;
  /** For work before that transaction: throws `Replayed` too, and claims nothing. */
  requireNotDone(db: Db | Tx): Promise<void>;
  /** Last in the transaction: stores the response for repetitions. */
  keep(tx: Tx, reply: unknown): Promise<void>;
  /** Both in one, for a change of one statement: what `claiming` writes. */
  columns(reply: unknown): ClaimColumns;
  /** For a statement that claimed nothing although there is a key: throws `Replayed`. */
  replay(db: Db | Tx): Promise<never>;
};

/** Null: there is no key. */
export type ClaimColumns = {
  claimUser: number | null;
  claimOperation: string | null;
  keySha256: Buffer | null;
  requestHmac: Buffer | null;
  /** The key of the ring that the request and the response need. Null: it is not known. */
  keyId: string | null;
  reply: string | null;
  claimedAt: Date | null;
  claimExpiresAt: Date | null;
};

/** The current one first; the others stay valid during a rotation. */
export type IdempotencySecrets = readonly { keyId: string; secret: Buffer }[];

export type IdempotencyRequest = {
  /** The header as received; without one the request runs each time. */
  key: string | undefined;
  accountId: number;
  userId: number;
  operationId: string;
  /** Everything that makes two requests different: path parameters and body, as sent. */
  request: unknown;
  secretReply: boolean;
  secrets: IdempotencySecrets;
  now: Date;
};

export function createIdempotency({
  key,
  accountId,
  userId,
  operationId,
  request,
  secretReply,
  secrets,
  now,
}: IdempotencyRequest): Idempotency {
  if (key === undefined) return noKey;
  if (key === "" || key.length > LONGEST_KEY)
    throw invalid(FIELD, texts.idempotencyKeyLength({ longest: LONGEST_KEY }));
  const row = { account_id: accountId, user_id: userId, operation: operationId, key_sha256: sha256(key) };
  const place = ["idempotency_keys", accountId, userId, operationId];
  const text = canonical(request);
  const hmacs = secrets.map(({ secret }) =>
    createHmac("sha256", derive(secret, key, "request"))
      .update(text)
      .digest(),
  );
  const sealers = secretReply ? secrets.map(({ secret }) => sealerOf(derive(secret, key, "reply"))) : [];

  const columns = (reply: string | null): ClaimColumns => ({
    claimUser: userId,
    claimOperation: operationId,
    keySha256: row.key_sha256,
    requestHmac: hmacs[0] as Buffer,
    keyId: secrets[0]?.keyId ?? null,
    reply,
    claimedAt: now,
    claimExpiresAt: new Date(now.getTime() + HOURS_KEPT * 3_600_000),
  });
  const textOf = (reply: unknown): string => {
    const json = JSON.stringify(reply);
    return secretReply ? (sealers[0] as Sealer).seal(place, json) : json;
  };
  const replay = async (db: Db | Tx): Promise<never> => {
    const first = await db
      .selectFrom("idempotency_keys")
      .select(["request_hmac", "reply"])
      .where((is) => is.and(row))
      .executeTakeFirstOrThrow();
    if (!hmacs.some((hmac) => timingSafeEqual(hmac, first.request_hmac)))
      throw new DomainError("invalid", { field: FIELD, reason: texts.idempotencyKeyReused({ hours: HOURS_KEPT }) });
    if (first.reply === null) throw new Error(`${operationId} claimed an ${FIELD} and kept no reply.`);
    throw new Replayed(secretReply ? openWithAny(sealers, place, first.reply) : first.reply);
  };

  return {
    async claim(tx) {
      const { rows } = await claiming({ ...columns(null), accountId }).execute(tx);
      if (rows.length === 0) await replay(tx);
    },
    async requireNotDone(db) {
      const kept = await db
        .selectFrom("idempotency_keys")
        .select("operation")
        .where((is) => is.and(row))
        .where("expires_at", ">", now)
        .executeTakeFirst();
      if (kept !== undefined) await replay(db);
    },
    async keep(tx, reply) {
      await tx
        .updateTable("idempotency_keys")
        .set({ reply: textOf(reply) })
        .where((is) => is.and(row))
        .execute();
    },
    columns: (reply) => columns(textOf(reply)),
    replay,
  };
}

/** For a request without a key. */
export const noKey: Idempotency = {
  claim: async () => {},
  requireNotDone: async () => {},
  keep: async () => {},
  columns: () => unclaimed,
  replay: async () => {
    throw new Error("A request without a key was not done before.");
  },
};

const unclaimed: ClaimColumns = {
  claimUser: null,
  claimOperation: null,
  keySha256: null,
  requestHmac: null,
  keyId: null,
  reply: null,
  claimedAt: null,
  claimExpiresAt: null,
};

/** Requests that differ only in the order of keys are the same request. */
const canonical = (value: unknown): string =>
  JSON.stringify(value ?? null, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

/** Neither the installation's secret alone nor the caller's key alone can decrypt or compare anything. */
const derive = (secret: Buffer, key: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, key, purpose, 32));

const sealerOf = (key: Buffer): Sealer => createSealer({ current: "once", keys: { once: key.toString("base64") } });

function openWithAny(sealers: readonly Sealer[], place: readonly (string | number)[], sealed: string): string {
  for (const sealer of sealers) {
    try {
      return sealer.open(place, sealed);
    } catch {}
  }
  throw new Error("A kept reply does not open by any key of the ring.");
}

/**
 * The part of a statement that claims a key and stores the response. It waits for another request with this key to end,
 * and returns no row when the key was claimed before or there is none. An expired key counts as absent.
 */
export const claiming = (claim: ClaimColumns & { accountId: number }) => sql`
  insert into idempotency_keys (account_id, user_id, operation, key_sha256, request_hmac, key_id, reply, expires_at)
  select ${claim.accountId}::bigint, ${claim.claimUser}::bigint, ${claim.claimOperation}::text,
    ${claim.keySha256}::bytea, ${claim.requestHmac}::bytea, ${claim.keyId}::text, ${claim.reply}::text, ${claim.claimExpiresAt}::timestamptz
  where ${claim.keySha256}::bytea is not null
  on conflict (account_id, user_id, operation, key_sha256) do update
    set request_hmac = excluded.request_hmac, key_id = excluded.key_id, reply = excluded.reply, expires_at = excluded.expires_at
    where idempotency_keys.expires_at <= ${claim.claimedAt}::timestamptz
  returning operation`;

/**
 * Thrown to leave the transaction; the server answers with the stored response. Only responses with status 200 are
 * stored: a refusal rolls its transaction back and leaves the key free.
 */
export class Replayed extends Error {
  override readonly name = "Replayed";
  readonly reply: string;
  constructor(reply: string) {
    super("The request was done before.");
    this.reply = reply;
  }
}

export const createIdempotencySecrets = ({ current, keys }: KeyRing): IdempotencySecrets =>
  [current, ...Object.keys(keys).filter((id) => id !== current)].map((keyId) => ({
    keyId,
    secret: derive(Buffer.from(keys[keyId] ?? "", "base64"), "", "moorage idempotency"),
  }));

/** How many responses can only be repeated with each key. */
export async function countClaims(db: Db, now: Date): Promise<KeyUse[]> {
  const rows = await db
    .selectFrom("idempotency_keys")
    .select(({ fn }) => ["key_id as key", fn.countAll<number>().as("count")])
    .where("expires_at", ">", now)
    .groupBy("key_id")
    .execute();
  return rows.map((row) => ({ by: "idempotency_keys", ...row }));
}

/** Removes expired keys. */
export const createIdempotencySweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch?: number) =>
  (): Promise<void> =>
    deleteInBatches(
      db,
      (most) => sql`
        delete from idempotency_keys where ctid = any(array(
          select ctid from idempotency_keys where expires_at <= ${clock()}
          order by expires_at limit ${most} for update skip locked))`,
      batch,
    );
