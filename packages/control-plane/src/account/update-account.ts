import type { Account, AccountChange } from "@moorage/contract";
import { type Principal, saveAccountColumns } from "#identity/index.ts";
import { DomainError } from "#platform/errors.ts";
import { type AccountRow, lockAccount, recordAccountChange, requireOpen } from "./account-store.ts";
import { addressAfter, faultsOfAddress } from "./address.ts";
import { emailOf, viewAccount, type ViewDeps } from "./view.ts";

const texts = ["address_1", "address_2", "city", "company", "first_name", "last_name", "phone", "tax_id"] as const;
const fields = [...texts, "country", "state", "zip", "contact_email"] as const;
type Texts = Pick<AccountRow, (typeof texts)[number]>;

/**
 * Every accepted update emits an event, even one without changes: clients send back all the fields that they received.
 */
export async function updateAccount(deps: ViewDeps, by: Principal, change: AccountChange): Promise<Account> {
  await deps.db.transaction().execute(async (tx) => {
    const before = requireOpen(await lockAccount(tx, by.accountId));
    const address = addressAfter(before, change);
    const faults = faultsOfAddress(before, address);
    if (faults.length > 0) throw new DomainError("invalid", ...faults);
    const email = change.email ?? emailOf(before);
    const account = await saveAccountColumns(tx, by.accountId, {
      ...textsAfter(before, change),
      ...address,
      contact_email: email === emailOf(before) ? before.contact_email : email,
    });
    await recordAccountChange(tx, by, {
      audited: "update_account",
      event: "account_update",
      account,
      at: deps.clock(),
      detail: { fields: changedFields(before, account) },
    });
  });
  return viewAccount(deps, by.accountId);
}

const textsAfter = (before: AccountRow, change: AccountChange): Texts =>
  Object.fromEntries(texts.map((field) => [field, change[field] ?? before[field]])) as Texts;

const changedFields = (before: AccountRow, after: AccountRow): string[] =>
  fields.filter((field) => before[field] !== after[field]);
