import { toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import type { MakePasswordLink } from "#mail/index.ts";
import { DomainError } from "#platform/errors.ts";
import { command, type CommandDeps } from "./command.ts";
import { Nothing } from "./fields.ts";
import { requireUser } from "./users.ts";

const HOURS = 72;
const LINK = { path: "/admin/accounts/:id/users/:username/password-link", body: Nothing } as const;

/** Undefined while nobody said where people sign in. */
export type PasswordLinkDeps = CommandDeps & { makePasswordLink: MakePasswordLink | undefined };

/** What a letter would carry, for the operator to hand over: where no mail goes out, or none arrives. */
export function passwordLinkCommands(app: FastifyInstance, deps: PasswordLinkDeps): void {
  command(app, deps, LINK, async (tx, _, params) => {
    const user = await requireUser(tx, params);
    if (deps.makePasswordLink === undefined)
      throw new DomainError("wrong-state", {
        reason: "MOORAGE_AUTH_URL is not set for the api process, so nobody can sign in here.",
      });
    const link = await deps.makePasswordLink(tx, { accountId: user.account_id, userId: user.id }, HOURS);
    const expires = toTimestamp(new Date(deps.clock().getTime() + HOURS * 3_600_000));
    return { username: user.username, link, expires };
  });
}
