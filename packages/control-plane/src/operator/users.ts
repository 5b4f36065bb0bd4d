import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import type { Selectable } from "kysely";
import { findUser, saveUser } from "#identity/index.ts";
import type { MakePasswordLink } from "#mail/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { listGrants, missingEntities, saveGrants } from "#users/index.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";
import { texts } from "./texts.ts";

const HOURS = 72;

export type SignInCommandDeps = CommandDeps & {
  /** Undefined while no sign-in address is configured. */
  makePasswordLink: MakePasswordLink | undefined;
  turnOffTwoFactor: (tx: Tx, person: { accountId: number; userId: number }) => Promise<void>;
};

export function userCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listUsers, async ({ params }) => {
    const { id } = await findAccount(db, params.accountId);
    const rows = await db.selectFrom("users").selectAll().where("account_id", "=", id).orderBy("id").execute();
    return { data: rows.map(viewOf) };
  });

  const save: Run<typeof contract.saveUser> = async (tx, { params, body }) => {
    const account = await findAccount(tx, params.accountId);
    const saved = await saveUser(tx, account.id, body, clock());
    // Must not reveal which account has the name.
    if (saved === undefined) throw invalid("username", texts.usernameTaken());
    return viewOf(saved);
  };
  command(app, deps, contract.saveUser, save, "identity");

  operatorRoute(app, contract.viewGrants, async ({ params }) => viewOfGrants(db, await requireUser(db, params)));

  const setGrants: Run<typeof contract.setGrants> = async (tx, { params, body }) => {
    const user = await requireUser(tx, params);
    const { account_id: account, username, email } = user;
    if (!user.restricted)
      throw new DomainError("wrong-state", { reason: texts.userNotRestricted({ account, username, email }) });
    const { global, database, compute } = body;
    await requireEntities(tx, user.account_id, { database, compute });
    return viewOfGrants(tx, await saveGrants(tx, user, { global, database, linode: compute }));
  };
  command(app, deps, contract.setGrants, setGrants, "identity");
}

/** For users who cannot help themselves: mail does not reach them, or their second factor is lost. */
export function signInCommands(app: FastifyInstance, deps: SignInCommandDeps): void {
  command(app, deps, contract.createPasswordLink, async (tx, { params }) => {
    const user = await requireUser(tx, params);
    if (deps.makePasswordLink === undefined)
      throw new DomainError("wrong-state", { reason: texts.signInNotConfigured() });
    const link = await deps.makePasswordLink(tx, { accountId: user.account_id, userId: user.id }, HOURS);
    const expires = toTimestamp(new Date(deps.clock().getTime() + HOURS * 3_600_000));
    return { username: user.username, link, expires };
  });

  command(app, deps, contract.turnOffTwoFactor, async (tx, { params }) => {
    const user = await requireUser(tx, params);
    await deps.turnOffTwoFactor(tx, { accountId: user.account_id, userId: user.id });
    return { username: user.username, two_factor: false };
  });
}

const viewOf = (user: Selectable<Tables["users"]>): contract.User => ({
  id: user.id,
  username: user.username,
  email: user.email,
  restricted: user.restricted,
  created: toTimestamp(user.created_at),
});

/** The user that a path names, in the account that it names. */
export async function requireUser(db: Db | Tx, { accountId, username }: { accountId: number; username: string }) {
  const account = await findAccount(db, accountId);
  const user = await findUser(db, account.id, username);
  if (user === undefined)
    throw new DomainError("not-found", { reason: texts.userUnknown({ account: account.id, username }) });
  return user;
}

/** The grants of a restricted user. An unrestricted one has none, and needs none. */
async function viewOfGrants(db: Db | Tx, user: Selectable<Tables["users"]>): Promise<contract.Grants> {
  const none = { account_read: false, account_write: false, add_databases: false, add_images: false };
  return {
    username: user.username,
    restricted: user.restricted,
    global: { ...none, ...user.global_grants },
    database: await listGrants(db, user, "database", "held"),
    compute: await listGrants(db, user, "linode", "held"),
  };
}

/** Another account's entity is refused like one that does not exist. */
async function requireEntities(
  tx: Tx,
  accountId: number,
  named: Record<"database" | "compute", readonly { id: number }[]>,
): Promise<void> {
  const missingOf = async (kind: "database" | "compute") => {
    const ids = named[kind].map(({ id }) => id);
    const missing = await missingEntities(tx, accountId, kind === "compute" ? "linode" : kind, ids);
    return [...missing].map((id) => ({ field: kind, reason: texts.entityUnknown({ account: accountId, kind, id }) }));
  };
  const faults = [...(await missingOf("database")), ...(await missingOf("compute"))];
  if (faults.length > 0) throw new DomainError("not-found", ...faults);
}
