import type { SettingsOf } from "@moorage/contract/settings";
import { type ChargeProvider, createStripe, createStripeCharges } from "#payment-provider/index.ts";
import type { stripeSettings, webhookSettings } from "#payment-provider/settings.ts";
import { required } from "#platform/config.ts";
import type { addressSettings } from "#platform/settings.ts";

type Config = SettingsOf<typeof stripeSettings & typeof webhookSettings & typeof addressSettings>;

/** Undefined: the operator has no payment provider. */
export function composeProvider(config: Config): ChargeProvider | undefined {
  if (config.MOORAGE_PAYMENT_PROVIDER === undefined) return undefined;
  return createStripeCharges({
    stripe: createStripe({ key: required(config, "MOORAGE_STRIPE_KEY"), url: config.MOORAGE_STRIPE_URL }),
    webhookSecret: required(config, "MOORAGE_STRIPE_WEBHOOK_SECRET"),
    returnUrl: config.MOORAGE_AUTH_URL ?? required(config, "MOORAGE_PUBLIC_URL"),
  });
}
