import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { Token } from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { issueToken, revokeToken } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";
import { texts } from "./texts.ts";
import { requireUser } from "./users.ts";

export function tokenCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listTokens, async ({ params }) => {
    const account = await findAccount(db, params.accountId);
    return { data: await listTokens(db, account.id) };
  });

  // No notification: an unknown token is looked up every time.
  command(app, deps, contract.createToken, async (tx, { params, body: { label, scopes, expires } }) => {
    const user = await requireUser(tx, params);
    const now = clock();
    const until = expires === null ? null : new Date(`${expires}Z`);
    if (until !== null && until <= now) throw invalid("expires", texts.expiryNotInFuture({ now: toTimestamp(now) }));
    const issued = await issueToken(tx, user, { label, scopes, now, expires: until });
    return { ...issued, username: user.username, label, scopes, expires };
  });

  const revoke: Run<typeof contract.revokeToken> = async (tx, { params: { accountId, tokenId: id } }) => {
    const account = await findAccount(tx, accountId);
    await revokeToken(tx, account.id, id, clock());
    const revoked = await findToken(tx, account.id, id);
    if (revoked === undefined)
      throw new DomainError("not-found", { reason: texts.tokenUnknown({ account: account.id, id }) });
    return revoked;
  };
  command(app, deps, contract.revokeToken, revoke, "identity");
}

async function listTokens(db: Db, accountId: number) {
  const rows = await tokensToView(db, accountId)
    // Tokens of apps are short-lived and have no label.
    .where("tokens.app_grant_id", "is", null)
    .orderBy("tokens.id")
    .execute();
  return rows.map(viewOf);
}

async function findToken(tx: Tx, accountId: number, id: number) {
  const row = await tokensToView(tx, accountId).where("tokens.id", "=", id).executeTakeFirst();
  return row === undefined ? undefined : viewOf(row);
}

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

const viewOf = ({ created_at, expires_at, revoked_at, ...row }: Row): Token => ({
  ...row,
  created: toTimestamp(created_at),
  expires: expires_at === null ? null : toTimestamp(expires_at),
  revoked: revoked_at === null ? null : toTimestamp(revoked_at),
});
