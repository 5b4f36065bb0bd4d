import { toTimestamp } from "@moorage/contract";
import type { Db, Tx } from "#platform/db/database.ts";

/** Never the token or its hash. */
const tokensToView = (db: Db | Tx, accountId: number) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", (join) =>
      join.onRef("users.account_id", "=", "tokens.account_id").onRef("users.id", "=", "tokens.user_id"),
    )
    .select(["tokens.id", "users.username", "tokens.label", "tokens.prefix", "tokens.scopes"])
    .select(["tokens.created_at", "tokens.expires_at", "tokens.revoked_at"])
    .where("tokens.account_id", "=", accountId);

type Row = Awaited<ReturnType<ReturnType<typeof tokensToView>["executeTakeFirstOrThrow"]>>;

const viewOf = ({ created_at, expires_at, revoked_at, ...row }: Row) => ({
  ...row,
  created: toTimestamp(created_at),
  expires: expires_at === null ? null : toTimestamp(expires_at),
  revoked: revoked_at === null ? null : toTimestamp(revoked_at),
});

export async function listTokens(db: Db, accountId: number) {
  const rows = await tokensToView(db, accountId)
    // Tokens of apps are short-lived and have no label.
    .where("tokens.app_grant_id", "is", null)
    .orderBy("tokens.id")
    .execute();
  return rows.map(viewOf);
}

/** Repeatable: the first revocation time stays. */
export async function revokeToken(tx: Tx, accountId: number, id: number, now: Date) {
  await tx
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
  const row = await tokensToView(tx, accountId).where("tokens.id", "=", id).executeTakeFirst();
  return row === undefined ? undefined : viewOf(row);
}
