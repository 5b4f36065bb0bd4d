import type { Principal } from "#identity/index.ts";
import type { Settlement } from "#payment-provider/index.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { addMethod } from "./add-method.ts";
import type { CardAdmissionDeps } from "./admit-card.ts";
import { saveAttemptOutcome } from "./card-attempt-store.ts";
import { tooManyMethods } from "./card-rules.ts";

/** Ends an attempt, in one transaction with the resulting payment method. */
export async function settleCard(
  { db, clock }: Pick<CardAdmissionDeps, "db" | "clock">,
  by: Principal,
  { operation, attempt: id, request, outcome }: Settlement,
  idempotency: Idempotency,
): Promise<object> {
  const attempt = { account_id: by.accountId, id };
  const added = await db.transaction().execute(async (tx) => {
    if (outcome.is === "declined") {
      await saveAttemptOutcome(tx, attempt, "refused");
      return undefined;
    }
    await idempotency.requireNotDone(tx);
    const answer = await addMethod(tx, {
      accountId: by.accountId,
      card: outcome.card,
      isDefault: operation === "updateCreditCard" || request.is_default,
      event: operation === "updateCreditCard" ? "credit_card_updated" : "payment_method_add",
      by,
      at: clock(),
    });
    await saveAttemptOutcome(tx, attempt, answer === "too many" ? "refused" : "added");
    if (answer === "too many") return answer;
    // Not first, as elsewhere: the account's lock serializes two requests that settle one attempt.
    await idempotency.claim(tx);
    await idempotency.keep(tx, {});
    return answer;
  });
  if (added === "too many") throw tooManyMethods();
  return {};
}
