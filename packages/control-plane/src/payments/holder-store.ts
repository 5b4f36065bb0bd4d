import type { Selectable } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type Holder = Pick<
  Selectable<Tables["accounts"]>,
  "id" | "euuid" | "company" | "zip" | "country" | "provider_customer"
>;

/** The holder of an account's cards. Locked, which serializes the counting of cards. */
export const lockHolder = (tx: Tx, accountId: number): Promise<Holder> =>
  tx
    .selectFrom("accounts")
    .select(["id", "euuid", "company", "zip", "country", "provider_customer"])
    .where("id", "=", accountId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();

/** An account has one customer at the provider: a card of another customer could not be charged. */
export async function saveCustomer(tx: Tx, { id, provider_customer }: Holder, customer: string): Promise<void> {
  if (provider_customer === customer) return;
  if (provider_customer !== null) throw new Error(`The card belongs to another customer than the account ${id}.`);
  await tx.updateTable("accounts").set({ provider_customer: customer }).where("id", "=", id).execute();
}
