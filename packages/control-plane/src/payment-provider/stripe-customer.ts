import type { Stripe } from "stripe";
import type { CardHolder } from "./provider.ts";

/** The customer at Stripe that holds the account's cards. Its key ensures that two concurrent calls create one. */
export async function customerOf(
  stripe: Stripe,
  { customer, accountUuid }: Pick<CardHolder, "customer" | "accountUuid">,
): Promise<string> {
  if (customer !== null) return customer;
  const made = await stripe.customers.create(
    { metadata: { account: accountUuid } },
    { idempotencyKey: `customer-${accountUuid}` },
  );
  return made.id;
}
