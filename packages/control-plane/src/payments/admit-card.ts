import type { Principal } from "#identity/index.ts";
import type { Admission, AddCardRequest, ChargeProvider } from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { noProvider } from "./charge.ts";
import { countAttempts, findOpenAttempt, insertAttempt } from "./card-attempt-store.ts";
import { MOST_METHODS, rawCardsOff, requireFewerPerDay, requireZip, tooManyMethods } from "./card-rules.ts";
import { lockHolder } from "./holder-store.ts";
import { countMethods } from "./method-store.ts";

export type CardAdmissionDeps = {
  db: Db;
  clock: Clock;
  provider: ChargeProvider | undefined;
  /** Whether card numbers are accepted at all. */
  cardsRaw: boolean;
  cardsPerDay: number;
};

const DAY_MS = 24 * 3_600_000;

/** Decides whether a card may be stored at the provider for this account, and for which holder. */
export async function admitCard(
  { db, clock, provider, cardsRaw, cardsPerDay }: CardAdmissionDeps,
  by: Principal,
  { card }: AddCardRequest,
  idempotency: Idempotency,
): Promise<Admission> {
  if (provider === undefined) throw noProvider();
  if (!cardsRaw) throw rawCardsOff();
  // `cards` knows what is wrong with it.
  if (card === null) return {};
  return db.transaction().execute(async (tx) => {
    const now = clock();
    await idempotency.requireNotDone(tx);
    const holder = await lockHolder(tx, by.accountId);
    const request = nameOf(idempotency);
    const open = request === null ? undefined : await findOpenAttempt(tx, by.accountId, request);
    const admit = (id: number): Admission => ({
      attempt: {
        id,
        holder: {
          accountUuid: holder.euuid,
          customer: holder.provider_customer,
          zip: holder.zip,
          country: holder.country,
        },
      },
    });
    if (open !== undefined) return admit(open.id);
    requireZip(holder);
    if ((await countMethods(tx, by.accountId)) >= MOST_METHODS) throw tooManyMethods();
    requireFewerPerDay(cardsPerDay, await countAttempts(tx, by.accountId, new Date(now.getTime() - DAY_MS)));
    return admit((await insertAttempt(tx, { account_id: by.accountId, at: now, request })).id);
  });
}

/** One attempt at the provider per key, even if the answer to the first request was lost. */
function nameOf(idempotency: Idempotency): string | null {
  const { claimUser, claimOperation, keySha256 } = idempotency.columns({});
  return keySha256 === null ? null : `${claimUser} ${claimOperation} ${keySha256.toString("base64url")}`;
}
