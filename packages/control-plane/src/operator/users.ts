import { toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import type { Selectable } from "kysely";
import { z } from "zod";
import { findUser, saveUser } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { readGrants, saveGrants } from "./grant-store.ts";

const Username = z
  .string()
  .min(3)
  .max(32)
  .regex(/^[a-z0-9]+(?:[-_][a-z0-9]+)*$/i, "letters and digits, with single - or _ between them");
const User = z.object({ username: Username, email: z.email(), restricted: z.boolean() });
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
  database: z
    .array(z.object({ id: z.int().positive(), permissions: z.enum(["read_only", "read_write"]).nullable() }))
    .default([]),
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

  command(app, deps, { path: USERS, body: User, tells: "identity" }, async (tx, user, { id }) => {
    const account = await findAccount(tx, id);
    const saved = await saveUser(tx, account.id, user, clock());
    // It must not tell whose name it is.
    if (saved === undefined) throw invalid("username", "a name that nobody in this installation has yet");
    return viewOf(saved);
  });

  app.get<OfUser>(GRANTS, async ({ params }) => readGrants(db, await requireUser(db, params)));

  command(app, deps, { path: GRANTS, body: Grants, tells: "identity" }, async (tx, grants, params) => {
    const user = await requireUser(tx, params);
    if (!user.restricted)
      throw new DomainError("wrong-state", {
        reason: `${user.username} is not restricted and may do everything. To give single grants, first run: moorage user create ${user.account_id} ${user.username} --email ${user.email} --restricted`,
      });
    await saveGrants(tx, user, grants);
    return readGrants(tx, await requireUser(tx, params));
  });
}

/** The user that a path names, in the account that it names. */
export async function requireUser(db: Db | Tx, { id, username = "" }: Readonly<Record<string, string>>) {
  const account = await findAccount(db, id);
  const user = await findUser(db, account.id, username);
  if (user === undefined)
    throw new DomainError("not-found", {
      reason: `Account ${account.id} has no user ${username}. See them with: moorage user list ${account.id}`,
    });
  return user;
}

const viewOf = (user: Selectable<Tables["users"]>) => ({
  id: user.id,
  username: user.username,
  email: user.email,
  restricted: user.restricted,
  created: toTimestamp(user.created_at),
});
