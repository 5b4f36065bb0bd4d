import { Id, toTimestamp } from "@moorage/contract";
import { type Selectable, sql } from "kysely";
import type { AccountLimits } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import { type Page, type PageRequest, toPage } from "#platform/http/page.ts";
import { texts } from "./texts.ts";

type AccountRow = Selectable<Tables["accounts"]>;
export type AccountView = ReturnType<typeof viewOf>;
type NewLimits = { [kind in keyof AccountLimits]?: number | undefined };

export const viewOf = (row: AccountRow) => ({
  id: row.id,
  euuid: row.euuid,
  company: row.company,
  email: row.email,
  capabilities: row.capabilities,
  limits: {
    databases: row.max_databases,
    nodes: row.max_nodes,
    memory_mb: row.max_memory_mb,
    disk_mb: row.max_disk_mb,
  },
  used: { databases: row.databases, nodes: row.nodes, memory_mb: row.memory_mb, disk_mb: row.disk_mb },
  created: toTimestamp(row.created_at),
  /** Since when the account is cancelled, and until when its data are kept. */
  closed: row.closed_at === null ? null : toTimestamp(row.closed_at),
  data_until: row.data_until === null ? null : toTimestamp(row.data_until),
});

/** By the id in a path. Takes no lock: a change of a database locks the database first and the account last. */
export async function findAccountRow(db: Db | Tx, id: string | number | undefined): Promise<AccountRow> {
  const row = await db
    .selectFrom("accounts")
    .selectAll()
    .where("id", "=", Id.safeParse(id).data ?? 0)
    .executeTakeFirst();
  if (row === undefined) throw new DomainError("not-found", { reason: texts.accountUnknown({ id }) });
  return row;
}

export const findAccount = async (db: Db | Tx, id: string | number | undefined): Promise<AccountView> =>
  viewOf(await findAccountRow(db, id));

export async function listAccounts(db: Db, page: PageRequest): Promise<Page<AccountView>> {
  const { rows, results } = await listPage(db.selectFrom("accounts").selectAll(), { page, lastly: { by: "id" } });
  return toPage(page, results, rows.map(viewOf));
}

/** A limit that is not named stays. Existing resources stay too, even above a lower limit: only more is refused. */
export const setLimits = (tx: Tx, accountId: number, limits: NewLimits): Promise<unknown> =>
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
