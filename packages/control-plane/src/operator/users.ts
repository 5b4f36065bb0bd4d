import { Email, type GlobalGrant, toTimestamp, Username } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import type { Selectable } from "kysely";
import { z } from "zod";
import { findUser, saveUser } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { listGrants, missingEntities, saveGrants } from "#users/index.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { texts } from "./texts.ts";

const User = z.object({ username: Username, email: Email, restricted: z.boolean() });
const EntityGrants = z
  .array(z.object({ id: z.int().positive(), permissions: z.enum(["read_only", "read_write"]).nullable() }))
  .default([]);
const Grants = z.object({
  global: z
    .object({
      account_read: z.boolean(),
      account_write: z.boolean(),
      add_databases: z.boolean(),
      add_images: z.boolean(),
    })
    .partial()
    .default({}),
  database: EntityGrants,
  compute: EntityGrants,
});

const USERS = "/admin/accounts/:id/users";
const GRANTS = `${USERS}/:username/grants` as const;
type OfUser = { Params: { id: string; username: string } };

export function userCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get<OfUser>(USERS, async ({ params }) => {
    const { id } = await findAccount(db, params.id);
    const rows = await db.selectFrom("users").selectAll().where("account_id", "=", id).orderBy("id").execute();
    return { data: rows.map(viewOf) };
  });

  command(app, deps, { path: USERS, body: User, notifies: "identity" }, async (tx, user, { id }) => {
    const account = await findAccount(tx, id);
    const saved = await saveUser(tx, account.id, user, clock());
    // Must not reveal which account has the name.
    if (saved === undefined) throw invalid("username", texts.usernameTaken());
    return viewOf(saved);
  });

  app.get<OfUser>(GRANTS, async ({ params }) => viewOfGrants(db, await requireUser(db, params)));

  command(app, deps, { path: GRANTS, body: Grants, notifies: "identity" }, async (tx, grants, params) => {
    const user = await requireUser(tx, params);
    const { account_id: account, username, email } = user;
    if (!user.restricted)
      throw new DomainError("wrong-state", { reason: texts.userNotRestricted({ account, username, email }) });
    const { global, database, compute } = grants;
    await requireEntities(tx, user.account_id, { database, compute });
    return viewOfGrants(tx, await saveGrants(tx, user, { global, database, linode: compute }));
  });
}

/** The user that a path names, in the account that it names. */
export async function requireUser(db: Db | Tx, { id, username = "" }: Readonly<Record<string, string>>) {
  const account = await findAccount(db, id);
  const user = await findUser(db, account.id, username);
  if (user === undefined)
    throw new DomainError("not-found", { reason: texts.userUnknown({ account: account.id, username }) });
  return user;
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

/** The grants of a restricted user. An unrestricted one has none, and needs none. */
async function viewOfGrants(db: Db | Tx, user: Selectable<Tables["users"]>) {
  const none: Record<GlobalGrant, boolean> = {
    account_read: false,
    account_write: false,
    add_databases: false,
    add_images: false,
  };
  return {
    username: user.username,
    restricted: user.restricted,
    global: { ...none, ...user.global_grants },
    database: await listGrants(db, user, "database", "held"),
    compute: await listGrants(db, user, "linode", "held"),
  };
}

const viewOf = (user: Selectable<Tables["users"]>) => ({
  id: user.id,
  username: user.username,
  email: user.email,
  restricted: user.restricted,
  created: toTimestamp(user.created_at),
});
