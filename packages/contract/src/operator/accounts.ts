import { z } from "zod";
import { BillingSource, Company, Promotion } from "../account.ts";
import { Email } from "../email.ts";
import { defineOperation } from "../operation.ts";
import { page, Timestamp } from "../wire.ts";
import { account, Amount, Limit } from "./fields.ts";

const Quota = z.object({ databases: z.int(), nodes: z.int(), memory_mb: z.int(), disk_mb: z.int() });
const limitsOf = <Field extends z.ZodType>(field: Field) =>
  z.object({
    databases: field.describe("maximum number of databases"),
    nodes: field.describe("maximum number of database nodes"),
    memory_mb: field.describe("maximum memory of all nodes together, in MB"),
    disk_mb: field.describe("maximum disk space of all nodes together, in MB"),
  });

export const NewAccount = z.object({
  // With the same rules as for the tenant: clients send back what they read.
  company: Company.min(1, "a name").describe("name of the company"),
  email: Email.describe("e-mail address of the owner, which identifies the account"),
  limits: limitsOf(Amount),
});

export const Account = z.object({
  id: z.int(),
  euuid: z.string(),
  company: z.string(),
  email: z.string(),
  capabilities: z.array(z.string()),
  limits: Quota,
  used: Quota,
  created: Timestamp,
  /** Since when the account is cancelled, and until when its data are kept. */
  closed: Timestamp.nullable(),
  data_until: Timestamp.nullable(),
});
export type Account = z.output<typeof Account>;

const Contact = z.object({
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  phone: z.string(),
  address_1: z.string(),
  address_2: z.string(),
  city: z.string(),
  state: z.string(),
  zip: z.string(),
  country: z.string(),
  tax_id: z.string(),
});
export const WholeAccount = Account.extend({
  contact: Contact,
  billing_source: BillingSource,
  balance: z.number(),
  balance_uninvoiced: z.number(),
  invoiced_through: Timestamp,
  credits: z.array(Promotion),
  card: z.object({ type: z.string(), last_four: z.string() }).nullable(),
  sees_availability: z.boolean(),
  cancellation: z.object({ by: z.string(), comments: z.string(), invoice: z.int().nullable() }).nullable(),
});
export type WholeAccount = z.output<typeof WholeAccount>;

const common = { audience: "operator", tag: "Accounts" } as const;

export const listAccounts = defineOperation({
  ...common,
  id: "listAccounts",
  summary: "List all accounts with their usage and limits",
  method: "GET",
  path: "/admin/accounts",
  paged: true,
  reply: page(Account),
});

export const viewAccount = defineOperation({
  ...common,
  id: "viewAccount",
  summary: "Show the contact, usage, limits, balance and cancellation of an account",
  method: "GET",
  path: "/admin/accounts/:accountId",
  params: account,
  reply: WholeAccount,
});

export const saveAccount = defineOperation({
  ...common,
  id: "saveAccount",
  summary: "Create an account",
  note: "A repetition with the same e-mail address changes company and limits.",
  method: "POST",
  path: "/admin/accounts",
  body: NewAccount,
  reply: Account,
});

export const setAccountLimits = defineOperation({
  ...common,
  id: "setAccountLimits",
  summary: "Change the named limits of an account",
  note: "A limit below the current usage deletes nothing.",
  method: "POST",
  path: "/admin/accounts/:accountId/limits",
  params: account,
  body: limitsOf(Limit).partial(),
  reply: Account,
});

export const setCapability = defineOperation({
  ...common,
  id: "setCapability",
  summary: "Grant or revoke a capability of an account",
  method: "POST",
  path: "/admin/accounts/:accountId/capabilities",
  params: account,
  body: z.object({ capability: z.enum(["Managed Databases"]).default("Managed Databases"), granted: z.boolean() }),
  reply: Account,
});

export const showAvailability = defineOperation({
  ...common,
  id: "showAvailability",
  summary: "Show or hide from an account what each region offers",
  method: "POST",
  path: "/admin/accounts/:accountId/availability",
  params: account,
  body: z.object({ on: z.boolean() }),
  reply: z.object({ id: z.int(), sees_availability: z.boolean() }),
});

export const reopenAccount = defineOperation({
  ...common,
  id: "reopenAccount",
  summary: "Reopen a cancelled account",
  note: "Its databases stay suspended until they are resumed.",
  method: "POST",
  path: "/admin/accounts/:accountId/reopen",
  params: account,
  reply: Account,
});
