import type { OAuthClient } from "@moorage/contract";
import { type Insertable, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

/** Without the hash of the secret: no reader of a client needs it. */
const shown = [
  ...(["oauth_clients.id", "oauth_clients.account_id", "oauth_clients.label", "oauth_clients.redirect_uri"] as const),
  ...(["oauth_clients.public", "oauth_clients.status", "oauth_clients.may_add_query"] as const),
  "oauth_clients.verified",
  ...(["oauth_clients.created_at"] as const),
  sql<boolean>`exists (select from oauth_client_thumbnails where client_id = oauth_clients.id)`.as("has_thumbnail"),
] as const;

type Shown =
  | "id"
  | "account_id"
  | "label"
  | "redirect_uri"
  | "public"
  | "status"
  | "may_add_query"
  | "verified"
  | "created_at";
export type OAuthClientRow = Pick<Selectable<Tables["oauth_clients"]>, Shown> & { has_thumbnail: boolean };

/** A deleted client is not visible to anybody. */
const clientsOf = (db: Db | Tx, accountId: number) =>
  db.selectFrom("oauth_clients").where("account_id", "=", accountId).where("deleted_at", "is", null);

const columns = { label: sql.ref("oauth_clients.label"), public: sql.ref("oauth_clients.public") };

/** In order of creation: ids are random. */
const inOrder = { by: sql`(oauth_clients.created_at, oauth_clients.id)` };

export const listClientPage = (db: Db, accountId: number, page: PageRequest, filter: Filter) =>
  listPage(clientsOf(db, accountId).select(shown), {
    page,
    filter,
    columns,
    lastly: inOrder,
  });

export const findClient = (db: Db | Tx, accountId: number, id: string): Promise<OAuthClientRow> =>
  clientsOf(db, accountId).select(shown).where("id", "=", id).executeTakeFirstOrThrow(notFound);

/** Locks the row, which serializes changes of one client. */
export const lockClient = (tx: Tx, accountId: number, id: string): Promise<OAuthClientRow> =>
  clientsOf(tx, accountId).select(shown).where("id", "=", id).forUpdate().executeTakeFirstOrThrow(notFound);

export const countClients = async (tx: Tx, accountId: number): Promise<number> =>
  (
    await clientsOf(tx, accountId)
      .select(({ fn }) => fn.countAll<number>().as("clients"))
      .executeTakeFirstOrThrow()
  ).clients;

export const insertClient = (tx: Tx, row: Insertable<Tables["oauth_clients"]>): Promise<OAuthClientRow> =>
  tx.insertInto("oauth_clients").values(row).returning(shown).executeTakeFirstOrThrow();

type ClientChange = Partial<
  Pick<Selectable<Tables["oauth_clients"]>, "label" | "redirect_uri" | "public" | "verified">
> & {
  secret_sha256?: Buffer;
};

/** `endsAll`: invalidates everything that was issued so far. */
export const saveClient = (
  tx: Tx,
  { account_id, id }: OAuthClientRow,
  change: ClientChange,
  { endsAll = false }: { endsAll?: boolean } = {},
): Promise<OAuthClientRow> =>
  tx
    .updateTable("oauth_clients")
    .set({ ...change, epoch: endsAll ? sql`epoch + 1` : sql`epoch` })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning(shown)
    .executeTakeFirstOrThrow();

/** One row, however many tokens were issued: every lookup of a token checks its client. */
export const markDeleted = (tx: Tx, { account_id, id }: OAuthClientRow, at: Date): Promise<unknown> =>
  tx
    .updateTable("oauth_clients")
    .set({ deleted_at: at })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();

/** For the operator: clients of one account, or of all. */
export const listEveryClient = (db: Db, page: PageRequest, accountId: number | undefined) =>
  listPage(
    db
      .selectFrom("oauth_clients")
      .select(shown)
      .where("deleted_at", "is", null)
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as number)),
    { page, lastly: inOrder },
  );

/** For the operator: across all accounts. Undefined: the client does not exist, or was deleted. */
export const setStatus = (tx: Tx, id: string, status: OAuthClient["status"]): Promise<OAuthClientRow | undefined> =>
  changeAnyones(tx, id).set({ status }).returning(shown).executeTakeFirst();

/** For the operator: whether the client may add a query to its redirect address. */
export const setTrust = (tx: Tx, id: string, mayAddQuery: boolean): Promise<OAuthClientRow | undefined> =>
  changeAnyones(tx, id).set({ may_add_query: mayAddQuery }).returning(shown).executeTakeFirst();

/** For the operator: whether the client may ask users of other accounts. */
export const setVerified = (tx: Tx, id: string, verified: boolean): Promise<OAuthClientRow | undefined> =>
  changeAnyones(tx, id).set({ verified }).returning(shown).executeTakeFirst();

const changeAnyones = (tx: Tx, id: string) =>
  tx.updateTable("oauth_clients").where("id", "=", id).where("deleted_at", "is", null);
