import { invalidToken, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { UserRow } from "#users/index.ts";

/** Without a row the user was deleted during the request: the token is invalid. */
const ownRow = (db: Db | Tx, by: Principal) =>
  db.selectFrom("users").selectAll().where("account_id", "=", by.accountId).where("id", "=", by.userId);

export const findOwnUser = (db: Db, by: Principal): Promise<UserRow> =>
  ownRow(db, by).executeTakeFirstOrThrow(() => invalidToken());

export const lockOwnUser = (tx: Tx, by: Principal): Promise<UserRow> =>
  ownRow(tx, by)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(() => invalidToken());
