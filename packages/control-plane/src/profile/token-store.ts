import { sql } from "kysely";
import type { Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter.ts";
import type { PageRequest } from "#platform/http/page.ts";

/** The user's own, without those of apps. One that has expired is there until it is deleted. */
const ownTokens = (db: Db | Tx, by: Principal) =>
  db
    .selectFrom("tokens")
    .select(["id", "label", "prefix", "scopes", "scopes_as_sent", "created_at", "expires_at"])
    .where("account_id", "=", by.accountId)
    .where("user_id", "=", by.userId)
    .where("app_grant_id", "is", null)
    .where("revoked_at", "is", null);

export type TokenRow = Awaited<ReturnType<typeof findToken>>;

export const findToken = (db: Db | Tx, by: Principal, id: number) =>
  ownTokens(db, by).where("id", "=", id).executeTakeFirstOrThrow(notFound);

export const countTokens = async (tx: Tx, by: Principal): Promise<number> =>
  (
    await ownTokens(tx, by)
      .clearSelect()
      .select(({ fn }) => fn.countAll<number>().as("tokens"))
      .executeTakeFirstOrThrow()
  ).tokens;

/** Two changes of one token are decided one after the other. */
export const lockToken = (tx: Tx, by: Principal, id: number) =>
  ownTokens(tx, by).where("id", "=", id).forUpdate().executeTakeFirstOrThrow(notFound);

export const listTokenPage = (db: Db, by: Principal, page: PageRequest, filter: Filter) =>
  listPage(ownTokens(db, by), {
    page,
    filter,
    columns: { label: sql.ref("label"), created: sql.ref("created_at") },
    lastly: { by: "id" },
  });

export const saveToken = (
  tx: Tx,
  by: Principal,
  id: number,
  change: { label?: string; revoked_at?: Date },
): Promise<unknown> =>
  tx.updateTable("tokens").set(change).where("account_id", "=", by.accountId).where("id", "=", id).execute();
