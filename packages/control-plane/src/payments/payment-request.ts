import { createPayment } from "@moorage/contract";
import type { Tx } from "#platform/db/database.ts";
import { claiming, type Idempotency } from "#platform/http/idempotency.ts";

const DAY_MS = 86_400_000;

/** What a repeated request is recognized by. It says nothing about the key or the request. Undefined: there is no key. */
export function requestOf(idempotency: Idempotency): string | undefined {
  const { claimUser, keySha256, requestHmac } = idempotency.columns({});
  if (keySha256 === null || requestHmac === null) return undefined;
  return [claimUser, keySha256.toString("base64url"), requestHmac.toString("base64url")].join(" ");
}

type Lost = { accountId: number; chargeId: number; openedAt: Date };

/** The database lost the charge and the claim of its Idempotency-Key: a repeated request must find the charge. */
export async function restoreClaim(tx: Tx, request: string, { accountId, chargeId, openedAt }: Lost): Promise<void> {
  const [user = "", key = "", hmac = ""] = request.split(" ");
  const known = await tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", Number(user))
    .executeTakeFirst();
  if (known === undefined) return;
  await claiming({
    accountId,
    claimUser: known.id,
    claimOperation: createPayment.id,
    keySha256: Buffer.from(key, "base64url"),
    requestHmac: Buffer.from(hmac, "base64url"),
    keyId: null,
    reply: JSON.stringify({ charge: chargeId }),
    claimedAt: openedAt,
    claimExpiresAt: new Date(openedAt.getTime() + DAY_MS),
  }).execute(tx);
}
