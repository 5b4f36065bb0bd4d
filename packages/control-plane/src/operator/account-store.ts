import { Id, toTimestamp } from "@moorage/contract";
import type { Account } from "@moorage/contract/operator";
import type { Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import { listPage, type Page, type PageRequest, toPage } from "#platform/http/page.ts";
import { texts } from "./texts.ts";

type AccountRow = Selectable<Tables["accounts"]>;

export const viewOf = (row: AccountRow): Account => ({
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
  closed: row.closed_at === null ? null : toTimestamp(row.closed_at),
  data_until: row.data_until === null ? null : toTimestamp(row.data_until),
});

/** Takes no lock: a change of a database locks the database first and the account last. */
export async function findAccountRow(db: Db | Tx, id: number): Promise<AccountRow> {
  const row = await db.selectFrom("accounts").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined) throw new DomainError("not-found", { reason: texts.accountUnknown({ id }) });
  return row;
}

export const findAccount = async (db: Db | Tx, id: number): Promise<Account> => viewOf(await findAccountRow(db, id));

/** The account that a query names, if it names one. */
export async function accountOf(db: Db, query: { account?: string | undefined }): Promise<number | undefined> {
  if (query.account === undefined) return undefined;
  const id = Id.safeParse(query.account).data;
  if (id === undefined) throw new DomainError("not-found", { reason: texts.accountUnknown({ id: query.account }) });
  return (await findAccount(db, id)).id;
}

export async function listAccounts(db: Db, page: PageRequest): Promise<Page<Account>> {
  const { rows, results } = await listPage(db.selectFrom("accounts").selectAll(), { page, lastly: { by: "id" } });
  return toPage(page, results, rows.map(viewOf));
}
