import { accountEntity, type EventAction } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { KeptCard } from "#payment-provider/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { MOST_METHODS } from "./admit-card.ts";
import { tryNewDefault } from "./autopay.ts";
import {
  type Holder,
  insertMethod,
  isRemoved,
  lockHolder,
  lockMethods,
  saveCustomer,
  setDefault,
} from "./method-store.ts";

export type NewMethod = {
  accountId: number;
  card: KeptCard;
  /** The first method of an account always becomes the default. */
  isDefault: boolean;
  event: Extract<EventAction, "payment_method_add" | "credit_card_updated">;
  /** Undefined: it was added on the provider's page. */
  by: { username: string; clientId: string | null } | undefined;
  at: Date;
};

/**
 * Adds a card that the provider has stored. The same card again changes nothing. A card beyond the limit is stored as
 * removed, so that the provider deletes it. The event is the last statement.
 */
export async function addMethod(tx: Tx, added: NewMethod): Promise<"added" | "known" | "too many"> {
  const { accountId, card, at } = added;
  const methods = await lockMethods(tx, accountId);
  const holder = await lockHolder(tx, accountId);
  const isOneTooMany = methods.length >= MOST_METHODS;
  const method = await insertMethod(tx, {
    account_id: accountId,
    provider_token: card.token,
    card_type: card.cardType,
    last_four: card.lastFour,
    expiry_month: card.expiryMonth,
    expiry_year: card.expiryYear,
    is_default: false,
    created_at: at,
    deleted_at: isOneTooMany ? at : null,
  });
  if (method === undefined) return (await isRemoved(tx, card.token)) ? "too many" : "known";
  if (isOneTooMany) return "too many";
  await saveCustomer(tx, holder, card.customer);
  if (added.isDefault || methods.length === 0) {
    await setDefault(tx, method);
    await tryNewDefault(tx, accountId, at);
  }
  await record(tx, holder, added, method.id);
  return "added";
}

async function record(
  tx: Tx,
  holder: Holder,
  { accountId, event, by, at }: NewMethod,
  methodId: number,
): Promise<void> {
  await audit(tx, {
    at,
    account: accountId,
    actor: by?.username ?? "payment provider",
    action: "add_payment_method",
    target: `payment-methods/${methodId}`,
    detail: { ...(by?.clientId && { client: by.clientId }) },
  });
  await emit(tx, {
    accountId,
    username: by?.username ?? null,
    action: event,
    status: "notification",
    entity: accountEntity(holder.company),
    at,
  });
}
