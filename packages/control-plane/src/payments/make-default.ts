import { accountEntity } from "@moorage/contract";
import { recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { tryNewDefault } from "./autopay.ts";
import { lockAccount } from "./charge-store.ts";
import { lockMethods, setDefault } from "./method-store.ts";

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
