import { Id, Timestamp, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { issueToken } from "#identity/index.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Name, Nothing } from "./fields.ts";
import { texts } from "./texts.ts";
import { listTokens, revokeToken } from "./token-store.ts";
import { requireUser } from "./users.ts";

const Scope = z
  .string()
  .regex(
    /^(?:\*|[a-z_]+:(?:\*|read_only|read_write))$/,
    "*, or an area with what may be done in it, such as databases:read_only",
  );
const Expiry = z.string().refine(isTime, "a time in UTC, such as 2030-01-31T00:00:00");
const Token = z.object({ label: Name, scopes: z.array(Scope).min(1), expires: Expiry.nullable().default(null) });

export function tokenCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get<{ Params: { id: string } }>("/admin/accounts/:id/tokens", async ({ params }) => {
    const account = await findAccount(db, params.id);
    return { data: await listTokens(db, account.id) };
  });

  // No notification: an unknown token is looked up every time.
  const create = { path: "/admin/accounts/:id/users/:username/tokens", body: Token } as const;
  command(app, deps, create, async (tx, { label, scopes, expires }, params) => {
    const user = await requireUser(tx, params);
    const now = clock();
    const until = expires === null ? null : dateOf(expires);
    if (until !== null && until <= now) throw invalid("expires", texts.expiryNotInFuture({ now: toTimestamp(now) }));
    const issued = await issueToken(tx, user, { label, scopes, now, expires: until });
    return { ...issued, username: user.username, label, scopes, expires };
  });

  const revoke = { path: "/admin/accounts/:id/tokens/:token/revoke", body: Nothing, notifies: "identity" } as const;
  command(app, deps, revoke, async (tx, _, params) => {
    const account = await findAccount(tx, params["id"]);
    const revoked = await revokeToken(tx, account.id, Id.safeParse(params["token"]).data ?? 0, clock());
    if (revoked === undefined)
      throw new DomainError("not-found", {
        reason: texts.tokenUnknown({ account: account.id, id: params["token"] }),
      });
    return revoked;
  });
}

const dateOf = (timestamp: string): Date => new Date(`${timestamp}Z`);

/** The 30th of February would be parsed as a day in March. */
function isTime(text: string): boolean {
  const at = dateOf(text);
  return Timestamp.safeParse(text).success && !Number.isNaN(at.getTime()) && toTimestamp(at) === text;
}
