import { type ChargeProvider, createStripe, createStripeCharges } from "#payment-provider/index.ts";
import { type Config, required } from "#platform/config.ts";

/** Undefined: the operator has no payment provider. */
export function composeProvider(config: Config): ChargeProvider | undefined {
  if (config.MOORAGE_PAYMENT_PROVIDER === undefined) return undefined;
  return createStripeCharges({
    stripe: createStripe({ key: required(config, "MOORAGE_STRIPE_KEY"), url: config.MOORAGE_STRIPE_URL }),
    webhookSecret: required(config, "MOORAGE_STRIPE_WEBHOOK_SECRET"),
    returnUrl: config.MOORAGE_AUTH_URL ?? required(config, "MOORAGE_PUBLIC_URL"),
  });
}
