import { z } from "zod";
import { SharedKey } from "#platform/settings.ts";

/** Of every process that calls the provider. */
export const stripeSettings = {
  MOORAGE_PAYMENT_PROVIDER: z
    .enum(["stripe"])
    .optional()
    .describe("`stripe`, or nothing: without a payment provider no card can be added and nothing is charged.")
    .meta({ needs: ["MOORAGE_STRIPE_KEY", "MOORAGE_STRIPE_WEBHOOK_SECRET"] }),
  MOORAGE_STRIPE_KEY: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Stripe's secret key; required with the provider. For `cards` use a restricted one: write access to customers, payment methods and setup intents.",
    )
    .meta({ secret: true }),
  MOORAGE_STRIPE_URL: z.url().optional().describe("Stripe's API, if not at Stripe's own address: for tests."),
};

export const webhookSettings = {
  MOORAGE_STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe("The secret with which Stripe signs webhooks; required with the provider.")
    .meta({ secret: true }),
};

export const cardAdmissionSettings = {
  MOORAGE_CARDS_ADMISSION_KEY: SharedKey.optional()
    .describe(
      "The key that `api` and `cards` share, at least 32 characters. Without it `api` does not open the card admission listener.",
    )
    .meta({ secret: true }),
};
