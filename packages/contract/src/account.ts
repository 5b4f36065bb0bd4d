import { z } from "zod";
import type { EventEntity } from "./events.ts";
import { defineOperation } from "./operation.ts";
import { Email } from "./email.ts";
import { longestTexts, page, Timestamp } from "./wire.ts";

export const Promotion = z.object({
  credit_monthly_cap: z.string(),
  credit_remaining: z.string(),
  description: z.string(),
  expire_dt: Timestamp.nullable(),
  image_url: z.string(),
  service_type: z.string(),
  summary: z.string(),
  this_month_credit_remaining: z.string(),
});
export type Promotion = z.output<typeof Promotion>;

export const BillingSource = z.enum(["operator", "partner"]);

export const Account = z.object({
  active_promotions: z.array(Promotion),
  active_since: Timestamp,
  address_1: z.string(),
  address_2: z.string(),
  balance: z.number(),
  /** What this month's invoice would amount to if the month ended now. */
  balance_uninvoiced: z.number(),
  billing_source: BillingSource,
  capabilities: z.array(z.string()),
  city: z.string(),
  company: z.string(),
  country: z.string(),
  credit_card: z.object({ expiry: z.string().nullable(), last_four: z.string().nullable() }),
  email: z.string(),
  euuid: z.uuid(),
  first_name: z.string(),
  last_name: z.string(),
  phone: z.string(),
  state: z.string(),
  tax_id: z.string(),
  zip: z.string(),
});
export type Account = z.output<typeof Account>;

const upTo = (most: number) => {
  const valid = `at most ${most} characters, none of them a control character`;
  return z
    .string({ error: valid })
    .max(most, valid)
    .regex(/^[^\p{Cc}]*$/u, valid);
};
/** Names appear in mails and on invoices. */
const nameUpTo = (most: number) => {
  const valid = `at most ${most} characters, none of them < > ( ) " = or a control character`;
  return z
    .string({ error: valid })
    .max(most, valid)
    .regex(/^[^<>()"=\p{Cc}]*$/u, valid);
};
export const Company = nameUpTo(128);
const COUNTRY = "two letters, a country code of ISO 3166-1 such as DE";
export const US_ZIP = /^\d{5}(?:-\d{4})?$/;
const ZIP = "letters, digits, hyphens and spaces, with at most 9 letters and digits";

/**
 * Rules that depend on the country (a state, a US zip) are checked against the account that is changed. Clients send
 * all fields back as they received them: a null, and a country that was never set, stay as they are.
 */
export const AccountChange = z
  .object({
    address_1: upTo(64).nullable(),
    address_2: upTo(64).nullable(),
    city: upTo(24).nullable(),
    company: Company.nullable(),
    country: z
      .string({ error: COUNTRY })
      .regex(/^(?:[A-Za-z]{2})?$/, COUNTRY)
      .nullable(),
    email: Email.nullable(),
    first_name: nameUpTo(50).nullable(),
    last_name: nameUpTo(50).nullable(),
    phone: upTo(32).nullable(),
    state: upTo(24).nullable(),
    tax_id: upTo(25).nullable(),
    zip: z
      .string({ error: ZIP })
      .regex(/^[A-Za-z0-9 -]*$/, ZIP)
      .refine((text) => text.replace(/[ -]/g, "").length <= 9 && text.length <= 24, ZIP)
      .register(longestTexts, { longest: 24 })
      .nullable(),
  })
  .partial();
export type AccountChange = z.output<typeof AccountChange>;

const view = { scopes: ["account:read_only"], grant: "account_read" } as const;
const change = { scopes: ["account:read_write"], grant: "account_write" } as const;

/** The account as an entity of its events and notifications, where it has no id. */
export const accountEntity = (company: string | null): EventEntity => ({
  id: null,
  label: company,
  type: "account",
  url: "/v4/account",
});

export const viewAccount = defineOperation({
  id: "viewAccount",
  summary: "View the account: who it is, and what it owes",
  tag: "Account",
  method: "GET",
  path: "/v4/account",
  access: view,
  rate: "single",
  reply: Account,
});

export const updateAccount = defineOperation({
  id: "updateAccount",
  summary: "Update the contact and billing data of the account",
  tag: "Account",
  method: "PUT",
  path: "/v4/account",
  access: change,
  body: AccountChange,
  rate: "single",
  emits: ["account_update"],
  reply: Account,
});

export const AccountSettings = z.object({
  backups_enabled: z.boolean(),
  longview_subscription: z.string().nullable(),
  managed: z.boolean(),
  network_helper: z.boolean(),
  object_storage: z.enum(["disabled", "suspended", "active"]),
});
export type AccountSettings = z.output<typeof AccountSettings>;
const flag = z.boolean({ error: "true or false" }).nullable();
export const AccountSettingsChange = z.object({ backups_enabled: flag, network_helper: flag }).partial();
export type AccountSettingsChange = z.output<typeof AccountSettingsChange>;

export const viewAccountSettings = defineOperation({
  id: "viewAccountSettings",
  summary: "View the settings of the account",
  tag: "Account",
  method: "GET",
  path: "/v4/account/settings",
  access: view,
  rate: "single",
  reply: AccountSettings,
});

export const updateAccountSettings = defineOperation({
  id: "updateAccountSettings",
  summary: "Update the settings of the account",
  tag: "Account",
  method: "PUT",
  path: "/v4/account/settings",
  access: change,
  body: AccountSettingsChange,
  notOffered: ["longview_subscription", "maintenance_policy", "interfaces_for_new_linodes"],
  rate: "single",
  emits: ["account_settings_update"],
  reply: AccountSettings,
});

export const Availability = z.object({
  region: z.string(),
  available: z.array(z.string()),
  unavailable: z.array(z.string()),
});
export type Availability = z.output<typeof Availability>;

export const listAvailability = defineOperation({
  id: "listAvailability",
  summary: "List what the account can have in each region",
  tag: "Account",
  method: "GET",
  path: "/v4/account/availability",
  access: view,
  paged: true,
  rate: "collection",
  reply: page(Availability),
});

export const viewAvailability = defineOperation({
  id: "viewAvailability",
  summary: "View what the account can have in a region",
  tag: "Account",
  method: "GET",
  path: "/v4/account/availability/:regionId",
  access: view,
  params: z.object({ regionId: z.string().max(64) }),
  rate: "single",
  reply: Availability,
});

/** GB. Traffic is not counted yet. */
const Transfer = z.object({ billable: z.int(), quota: z.int(), used: z.int() });
export const AccountTransfer = Transfer.extend({ region_transfers: z.array(Transfer.extend({ id: z.string() })) });
export type AccountTransfer = z.output<typeof AccountTransfer>;

export const viewAccountTransfer = defineOperation({
  id: "viewAccountTransfer",
  summary: "View the network transfer of this month",
  tag: "Account",
  method: "GET",
  path: "/v4/account/transfer",
  access: view,
  rate: "single",
  reply: AccountTransfer,
});

const COMMENTS = "at most 65535 characters";
export const Cancellation = z.object({ comments: z.string({ error: COMMENTS }).max(65_535, COMMENTS).optional() });
export type Cancellation = z.output<typeof Cancellation>;

export const cancelAccount = defineOperation({
  id: "cancelAccount",
  summary: "Cancel the account: what it owes is charged, then everything of it stops",
  tag: "Account",
  method: "POST",
  path: "/v4/account/cancel",
  access: { scopes: ["account:read_write"], unrestrictedOnly: true },
  body: Cancellation,
  rate: "single",
  conflict: "The charge of what the account owes failed; nothing has changed.",
  endsAccount: true,
  reply: z.object({ survey_link: z.string() }),
});

export const MaintenanceItem = z.object({
  entity: z.object({ id: z.int(), label: z.string(), type: z.string(), url: z.string() }),
  reason: z.string(),
  status: z.enum(["pending", "started", "completed"]),
  type: z.enum(["reboot", "cold_migration", "live_migration"]),
  when: Timestamp,
});
export type MaintenanceItem = z.output<typeof MaintenanceItem>;

export const listMaintenance = defineOperation({
  id: "listMaintenance",
  summary: "List the maintenance of compute instances that you may see",
  tag: "Account",
  method: "GET",
  path: "/v4/account/maintenance",
  access: { scopes: [] },
  paged: true,
  filterable: { type: "string", status: "string", when: "date" },
  rate: "collection",
  reply: page(MaintenanceItem),
});
