import { type Selectable, sql, type Updateable } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { AccountLimits } from "./identity-store.ts";

/** Changes of an account's row for other capabilities. The row is last in the lock order; `limits.ts` counts usage. */

type AccountColumns = Pick<
  Updateable<Tables["accounts"]>,
  | "company"
  | "contact_email"
  | "first_name"
  | "last_name"
  | "address_1"
  | "address_2"
  | "city"
  | "state"
  | "zip"
  | "country"
  | "phone"
  | "tax_id"
  | "backups_enabled"
  | "network_helper"
  | "closed_at"
  | "data_until"
>;

export const saveAccountColumns = (
  tx: Tx,
  id: number,
  change: AccountColumns,
): Promise<Selectable<Tables["accounts"]>> =>
  tx.updateTable("accounts").set(change).where("id", "=", id).returningAll().executeTakeFirstOrThrow();

/**
 * The part of a statement that takes the account's next event number. There is no result if the account was closed
 * meanwhile and somebody requests the event now.
 */
export const numbering = ({ accountId, requested }: { accountId: number; requested: boolean }) => sql`
  update accounts set event_seq = event_seq + 1 where id = ${accountId}
    and (closed_at is null or not ${requested}::boolean) returning event_seq`;

/** A limit that is not named stays. Existing resources stay too, even above a lower limit: only more is refused. */
export const setLimits = (
  tx: Tx,
  accountId: number,
  limits: { [kind in keyof AccountLimits]?: number | undefined },
): Promise<unknown> =>
  tx
    .updateTable("accounts")
    .set({
      max_databases: limits.databases ?? sql.ref("max_databases"),
      max_nodes: limits.nodes ?? sql.ref("max_nodes"),
      max_memory_mb: limits.memory_mb ?? sql.ref("max_memory_mb"),
      max_disk_mb: limits.disk_mb ?? sql.ref("max_disk_mb"),
    })
    .where("id", "=", accountId)
    .execute();

export const grantCapability = (tx: Tx, accountId: number, capability: string): Promise<unknown> =>
  tx
    .updateTable("accounts")
    .set({ capabilities: sql`array_append(array_remove(capabilities, ${capability}), ${capability})` })
    .where("id", "=", accountId)
    .execute();

export const revokeCapability = (tx: Tx, accountId: number, capability: string): Promise<unknown> =>
  tx
    .updateTable("accounts")
    .set({ capabilities: sql`array_remove(capabilities, ${capability})` })
    .where("id", "=", accountId)
    .execute();

export const showAvailability = (tx: Tx, accountId: number, on: boolean): Promise<unknown> =>
  tx.updateTable("accounts").set({ sees_availability: on }).where("id", "=", accountId).execute();

/** All usage of these accounts before this time has an invoice, or is free. */
export const setInvoicedThrough = (tx: Tx, accountIds: readonly number[], until: Date): Promise<unknown> =>
  tx
    .updateTable("accounts")
    .set({ invoiced_through: until })
    .where("id", "=", sql<number>`any(${accountIds}::bigint[])`)
    .execute();

/** The account's customer at the payment provider. */
export const setCustomer = (tx: Tx, accountId: number, customer: string): Promise<unknown> =>
  tx.updateTable("accounts").set({ provider_customer: customer }).where("id", "=", accountId).execute();

/** Only for an account that has no customer at the payment provider yet. */
export const setFirstCustomer = (tx: Tx, accountId: number, customer: string): Promise<unknown> =>
  tx
    .updateTable("accounts")
    .set({ provider_customer: customer })
    .where("id", "=", accountId)
    .where("provider_customer", "is", null)
    .execute();

/** The data of a closed account are deleted: no job has to return to it. */
export const endRetention = (tx: Tx, accountId: number): Promise<unknown> =>
  tx.updateTable("accounts").set({ data_until: null }).where("id", "=", accountId).execute();
