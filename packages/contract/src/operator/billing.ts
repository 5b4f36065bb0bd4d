import { z } from "zod";
import { defineOperation } from "../operation.ts";
import { Moment, Timestamp } from "../wire.ts";
import { account, Name, whole } from "./fields.ts";

const Cents = z
  .string()
  .regex(/^(?!0*(?:\.0*)?$)\d{1,7}(?:\.\d{1,2})?$/, 'dollars above 0 as text with at most 2 decimals, such as "100"');
export const NewCredit = z.object({
  /** Short: unique in an account, and shown on its bills. */
  summary: Name.describe("name of the credit on invoices, such as Welcome; unique within the account"),
  description: z.string().max(1024).describe("description for the tenant").default(""),
  credit: Cents.describe("amount of the credit, such as 100"),
  monthly_cap: Cents.describe("maximum amount used per month (default: the whole credit)").optional(),
  expires: Moment.describe("end of the credit in UTC, such as 2027-06-30T00:00:00 (default: never)").optional(),
});
export const Credit = z.object({
  id: z.int(),
  summary: z.string(),
  description: z.string(),
  credit: z.string(),
  monthly_cap: z.string(),
  remaining: z.string(),
  granted: Timestamp,
  expires: Timestamp.nullable(),
});
export type Credit = z.output<typeof Credit>;

const Percent = z
  .string()
  .regex(/^\d{1,2}(?:\.\d{1,4})?$/, 'a percentage below 100 as text, with at most 4 decimals, such as "9.975"');
const Place = z.object({
  country: z
    .string()
    .regex(/^[a-z]{2}$/i, "two letters, such as DE")
    .transform((code) => code.toUpperCase()),
  /** Empty: the whole country. */
  state: z.string().max(64).describe("state to which the tax is limited, such as QC").default(""),
  name: Name,
});
export const NewTax = Place.extend({
  percent: Percent.describe("rate in percent with at most 4 decimals, such as 9.975"),
  from: Moment.describe("start in UTC, such as 2027-01-01T00:00:00 (default: now)").optional(),
  waived_by_tax_id: z.boolean().describe("do not charge accounts that have a tax id").default(false),
});
export const TaxEnd = Place.extend({
  at: Moment.describe("end in UTC, such as 2027-01-01T00:00:00 (default: now)").optional(),
});
export const Tax = z.object({
  country: z.string(),
  state: z.string(),
  name: z.string(),
  waived_by_tax_id: z.boolean(),
  percent: z.string(),
  from: Timestamp,
  until: Timestamp.nullable(),
});
export type Tax = z.output<typeof Tax>;

const common = { audience: "operator", tag: "Billing" } as const;

export const listCredits = defineOperation({
  ...common,
  id: "listCredits",
  summary: "List the credits of an account with their remaining amounts",
  method: "GET",
  path: "/admin/accounts/:accountId/credits",
  params: account,
  reply: whole(Credit),
});

export const grantCredit = defineOperation({
  ...common,
  id: "grantCredit",
  summary: "Grant a credit to an account",
  note: "A repetition with the same summary grants nothing more.",
  method: "POST",
  path: "/admin/accounts/:accountId/credits",
  params: account,
  body: NewCredit,
  reply: Credit,
});

export const listTaxes = defineOperation({
  ...common,
  id: "listTaxes",
  summary: "List the former, current and future rates of all taxes",
  method: "GET",
  path: "/admin/taxes",
  reply: whole(Tax),
});

export const setTax = defineOperation({
  ...common,
  id: "setTax",
  summary: "Set the rate of a tax, such as DE VAT, from a time on",
  method: "POST",
  path: "/admin/taxes",
  body: NewTax,
  reply: Tax,
});

export const endTax = defineOperation({
  ...common,
  id: "endTax",
  summary: "End a tax at a time and delete its later rates",
  method: "POST",
  path: "/admin/taxes/end",
  body: TaxEnd,
  reply: whole(Tax),
});
