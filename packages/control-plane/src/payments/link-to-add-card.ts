import type { Principal } from "#identity/index.ts";
import { Declined, OutcomeUnknown } from "#payment-provider/index.ts";
import { DomainError } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { MOST_METHODS, requireZip, tooManyMethods } from "./card-rules.ts";
import { noProvider } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { countMethods } from "./method-store.ts";
import { texts } from "./texts.ts";

/** A page of the provider on which the account adds a card. The provider reports the card by an event. */
export async function linkToAddCard(
  { db, provider, log }: ChargeDeps,
  by: Principal,
  idempotency: Idempotency,
): Promise<{ url: string }> {
  if (provider === undefined) throw noProvider();
  const account = await db
    .selectFrom("accounts")
    .select(["euuid", "provider_customer", "zip", "country"])
    .where("id", "=", by.accountId)
    .executeTakeFirstOrThrow();
  requireZip(account);
  if ((await countMethods(db, by.accountId)) >= MOST_METHODS) throw tooManyMethods();
  const { url, customer } = await provider
    .linkToAddCard({ ...account, accountUuid: account.euuid, customer: account.provider_customer })
    .catch((error: unknown) => {
      if (!(error instanceof Declined || error instanceof OutcomeUnknown)) throw error;
      log.warn({ err: error }, "the payment provider returned no page");
      throw new DomainError("unavailable", { reason: texts.linkUnavailable() });
    });
  return db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    await tx
      .updateTable("accounts")
      .set({ provider_customer: customer })
      .where("id", "=", by.accountId)
      .where("provider_customer", "is", null)
      .execute();
    await idempotency.keep(tx, { url });
    return { url };
  });
}
