import { toTimestamp } from "@moorage/contract";
import { emailOf } from "#account/index.ts";
import { balanceOf, estimate, toDollars, viewCredits } from "#billing/index.ts";
import { findDefaultMethod } from "#payments/index.ts";
import type { Db } from "#platform/db/database.ts";
import { findAccountRow, viewOf } from "./account-store.ts";

/** Everything about one account: its data, its balance, and why it was cancelled if it was. */
export async function showAccount(db: Db, id: string, now: Date) {
  const row = await findAccountRow(db, id);
  const card = await findDefaultMethod(db, row.id);
  const uninvoiced = await estimate(db, row.id, now);
  const { first_name, last_name, address_1, address_2, city, state, zip, country, phone, tax_id } = row;
  return {
    ...viewOf(row),
    contact: {
      email: emailOf(row),
      first_name,
      last_name,
      phone,
      address_1,
      address_2,
      city,
      state,
      zip,
      country,
      tax_id,
    },
    billing_source: row.billing_source,
    balance: toDollars(await balanceOf(db, row.id)),
    balance_uninvoiced: toDollars(uninvoiced.total_micros),
    invoiced_through: toTimestamp(row.invoiced_through),
    credits: await viewCredits(db, row.id, now, uninvoiced),
    card: card === undefined ? null : { type: card.card_type, last_four: card.last_four },
    sees_availability: row.sees_availability,
    cancellation: row.closed_at === null ? null : await findCancellation(db, row.id),
  };
}

async function findCancellation(db: Db, accountId: number) {
  const line = await db
    .selectFrom("audit")
    .select(["actor", "detail"])
    .where("account_id", "=", accountId)
    .where("action", "=", "cancel_account")
    .orderBy("id", "desc")
    .executeTakeFirst();
  if (line === undefined) return null;
  const { comments, invoice } = line.detail as { comments?: string; invoice?: number };
  return { by: line.actor, comments: comments ?? "", invoice: invoice ?? null };
}
