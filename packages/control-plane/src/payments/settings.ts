import { z } from "zod";
import { Listen, PositiveInteger } from "#platform/settings.ts";

export const paymentSettings = {
  MOORAGE_CARDS_RAW: z
    .stringbool()
    .default(false)
    .describe(
      "Whether tenants may send card numbers, which then pass `cards`; otherwise only the provider's own page accepts them.",
    ),
  MOORAGE_CARDS_PER_DAY: PositiveInteger.default(60).describe("How many cards an account may add in 24 hours."),
  MOORAGE_CARDS_ADMISSION_LISTEN: Listen.prefault("127.0.0.1:18100").describe(
    "Where `api` listens for `cards`. Let only `cards` reach it.",
  ),
};
