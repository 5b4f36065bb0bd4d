import { type Account, type AccountTransfer, toTimestamp } from "@moorage/contract";
import { balanceOf, estimate, toDollars, viewCredits } from "#billing/index.ts";
import { MANAGED_DATABASES, mayHaveDatabases } from "#databases/index.ts";
import { expiryOf, findDefaultMethod } from "#payments/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { listRegions } from "#regions/index.ts";
import { type AccountRow, findAccount } from "./account-store.ts";

const MACHINE_IMAGES = "Machine Images";

const noTraffic = { billable: 0, quota: 0, used: 0 };

export type ViewDeps = { db: Db; clock: Clock; existingCustomersOnly: boolean };

export async function viewAccount({ db, clock, existingCustomersOnly }: ViewDeps, accountId: number): Promise<Account> {
  const now = clock();
  const row = await findAccount(db, accountId);
  const card = await findDefaultMethod(db, accountId);
  const uninvoiced = await estimate(db, accountId, now);
  return {
    active_promotions: await viewCredits(db, accountId, now, uninvoiced),
    active_since: toTimestamp(row.created_at),
    address_1: row.address_1,
    address_2: row.address_2,
    balance: toDollars(await balanceOf(db, accountId)),
    balance_uninvoiced: toDollars(uninvoiced.total_micros),
    billing_source: row.billing_source,
    capabilities: await capabilitiesOf(db, row, existingCustomersOnly),
    city: row.city,
    company: row.company,
    country: row.country,
    credit_card: { expiry: card === undefined ? null : expiryOf(card), last_four: card?.last_four ?? null },
    email: emailOf(row),
    euuid: row.euuid,
    first_name: row.first_name,
    last_name: row.last_name,
    phone: row.phone,
    state: row.state,
    tax_id: row.tax_id,
    zip: row.zip,
  };
}

/** What clients offer in their forms. Every account can have images. */
const capabilitiesOf = async (db: Db, account: AccountRow, existingCustomersOnly: boolean): Promise<string[]> => [
  ...new Set([
    ...((await mayHaveDatabases(db, account, existingCustomersOnly)) ? [MANAGED_DATABASES] : []),
    MACHINE_IMAGES,
    ...account.capabilities,
  ]),
];

/** The contact address that the account set, else the one that the operator created it with. */
export const emailOf = ({ contact_email, email }: Pick<AccountRow, "contact_email" | "email">): string =>
  contact_email ?? email;

/** Traffic is neither metered nor charged, in any region. */
export const viewTransfer = async (db: Db): Promise<AccountTransfer> => ({
  ...noTraffic,
  region_transfers: (await listRegions(db)).map(({ id }) => ({ id, ...noTraffic })),
});
