import type { SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import { PositiveInteger } from "#platform/settings.ts";

export const invoicingSettings = {
  MOORAGE_INVOICE_DELAY_SECONDS: z.coerce
    .number()
    .nonnegative()
    .default(600)
    .describe(
      "How long after its end a month is invoiced, in seconds: by then usage that began before its end must be written.",
    ),
  MOORAGE_INVOICE_RUN_ACCOUNTS: PositiveInteger.default(250).describe("How many accounts one workflow invoices."),
};

export const issuerSettings = {
  MOORAGE_OPERATOR_NAME: z.string().min(1).default("Moorage").describe("The issuer of invoices, as printed on them."),
  MOORAGE_OPERATOR_ADDRESS: z
    .string()
    .default("")
    .describe("The address of the issuer of invoices: lines separated by semicolons."),
};

/** The issuer named on invoices. */
export const issuerOf = (config: SettingsOf<typeof issuerSettings>) => ({
  name: config.MOORAGE_OPERATOR_NAME,
  address: config.MOORAGE_OPERATOR_ADDRESS.split(";")
    .map((line) => line.trim())
    .filter(Boolean),
});
