import type { Stripe } from "stripe";
import type { CardHolder } from "./provider.ts";

/** Who holds cards at Stripe. By its key it is made once, though two calls make it at the same time. */
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
