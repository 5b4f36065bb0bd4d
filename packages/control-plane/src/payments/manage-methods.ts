import { accountEntity } from "@moorage/contract";
import { step } from "@moorage/crash-points";
import { recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { tryNewDefault } from "./autopay.ts";
import { findPending, lockAccount } from "./charge-store.ts";
import { beingMade } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { lockMethod, lockMethods, markDeleted, markForgotten, type MethodRow, setDefault } from "./method-store.ts";
import { texts } from "./texts.ts";

export const makeDefault = (
  { db, clock }: { db: Db; clock: Clock },
  by: Principal,
  id: number,
  idempotency: Idempotency,
): Promise<Record<string, never>> =>
  db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    const method = (await lockMethods(tx, by.accountId)).find((each) => each.id === id);
    if (method === undefined) throw notFound();
    const at = clock();
    await setDefault(tx, method);
    const { company } = await lockAccount(tx, by.accountId);
    if (!method.is_default) await tryNewDefault(tx, by.accountId, at);
    await recordChange(tx, by, {
      audited: "make_payment_method_default",
      event: "account_update",
      target: `payment-methods/${id}`,
      entity: accountEntity(company),
      at,
    });
    await idempotency.keep(tx, {});
    return {};
  });

/** Removed for the account at once; the provider deletes the card after the commit, or when the job retries. */
export async function removeMethod(deps: ChargeDeps, by: Principal, id: number): Promise<void> {
  const { db, clock, log } = deps;
  const removed = await db.transaction().execute(async (tx) => {
    const at = clock();
    const method = await lockMethod(tx, by.accountId, id);
    if (method === undefined) throw notFound();
    if (method.is_default) throw new DomainError("wrong-state", { reason: texts.methodIsDefault() });
    const pending = await findPending(tx, by.accountId);
    if (pending?.payment_method_id === id) throw beingMade(pending);
    await markDeleted(tx, method, at);
    const { company } = await lockAccount(tx, by.accountId);
    await recordChange(tx, by, {
      audited: "delete_payment_method",
      event: "account_update",
      target: `payment-methods/${id}`,
      entity: accountEntity(company),
      at,
    });
    return method;
  });
  await forget(deps, removed).catch((error: unknown) =>
    log.warn({ err: error, method: id }, "the payment provider could not delete a card; the deletion is retried"),
  );
}

/** Can be repeated: a card that the provider does not have counts as deleted. */
export async function forget(
  { db, clock, provider }: ChargeDeps,
  method: Pick<MethodRow, "account_id" | "id" | "provider_token">,
): Promise<void> {
  if (provider === undefined) return;
  await step("charge.forget", async () => {
    await provider.forget(method.provider_token);
    await markForgotten(db, method, clock());
  });
}
