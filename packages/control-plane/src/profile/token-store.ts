import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import type { Person } from "./owner.ts";

/** The user's personal tokens, without those of apps. Expired tokens are included until they are deleted. */
const ownTokens = (db: Db | Tx, by: Person) =>
  db
    .selectFrom("tokens")
    .select(["id", "label", "prefix", "scopes", "scopes_as_sent", "created_at", "expires_at", "issued_to"])
    .where("account_id", "=", by.accountId)
    .where("user_id", "=", by.userId)
    .where("app_grant_id", "is", null)
    .where("revoked_at", "is", null);

export type TokenRow = Awaited<ReturnType<typeof findToken>>;

export const findToken = (db: Db | Tx, by: Person, id: number) =>
  ownTokens(db, by).where("id", "=", id).executeTakeFirstOrThrow(notFound);

export const countTokens = async (tx: Tx, by: Person): Promise<number> =>
  (
    await ownTokens(tx, by)
      .clearSelect()
      .select(({ fn }) => fn.countAll<number>().as("tokens"))
      .executeTakeFirstOrThrow()
  ).tokens;

/** Serializes changes of one token. */
export const lockToken = (tx: Tx, by: Person, id: number) =>
  ownTokens(tx, by).where("id", "=", id).forUpdate().executeTakeFirstOrThrow(notFound);

export const listTokenPage = (db: Db, by: Person, page: PageRequest, filter: Filter) =>
  listPage(ownTokens(db, by), {
    page,
    filter,
    columns: { label: sql.ref("label"), created: sql.ref("created_at") },
    lastly: { by: "id" },
  });

/** The newest first. */
export const listTokens = (db: Db, by: Person): Promise<TokenRow[]> =>
  ownTokens(db, by).orderBy("id", "desc").execute();

/** A token that was issued to this program, by its hash. */
export const findIssuedToken = (db: Db | Tx, issuedTo: string, hash: Buffer) =>
  db
    .selectFrom("tokens")
    .innerJoin("accounts", "accounts.id", "tokens.account_id")
    .select(["tokens.id", "tokens.account_id", "tokens.user_id", "tokens.scopes"])
    .select(["tokens.created_at", "tokens.expires_at"])
    .where("tokens.sha256", "=", hash)
    .where("tokens.issued_to", "=", issuedTo)
    .where("tokens.revoked_at", "is", null)
    .where("accounts.closed_at", "is", null)
    .executeTakeFirst();
