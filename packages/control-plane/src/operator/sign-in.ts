import { toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import type { MakePasswordLink } from "#mail/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { command, type CommandDeps } from "./command.ts";
import { Nothing } from "./fields.ts";
import { texts } from "./texts.ts";
import { requireUser } from "./users.ts";

const HOURS = 72;
const USER = "/admin/accounts/:id/users/:username";
const LINK = { path: `${USER}/password-link`, body: Nothing } as const;
const RESCUE = { path: `${USER}/two-factor/off`, body: Nothing } as const;

export type SignInCommandDeps = CommandDeps & {
  /** Undefined while no sign-in address is configured. */
  makePasswordLink: MakePasswordLink | undefined;
  turnOffTwoFactor: (tx: Tx, person: { accountId: number; userId: number }) => Promise<void>;
};

/** For users who cannot help themselves: mail does not reach them, or their second factor is lost. */
export function signInCommands(app: FastifyInstance, deps: SignInCommandDeps): void {
  command(app, deps, LINK, async (tx, _, params) => {
    const user = await requireUser(tx, params);
    if (deps.makePasswordLink === undefined)
      throw new DomainError("wrong-state", { reason: texts.signInNotConfigured() });
    const link = await deps.makePasswordLink(tx, { accountId: user.account_id, userId: user.id }, HOURS);
    const expires = toTimestamp(new Date(deps.clock().getTime() + HOURS * 3_600_000));
    return { username: user.username, link, expires };
  });

  command(app, deps, RESCUE, async (tx, _, params) => {
    const user = await requireUser(tx, params);
    await deps.turnOffTwoFactor(tx, { accountId: user.account_id, userId: user.id });
    return { username: user.username, two_factor: false };
  });
}
