import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { saveAccount } from "#identity/index.ts";
import { readPage } from "#platform/http/page.ts";
import { findAccount, grantCapability, listAccounts, revokeCapability, setLimits } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Amount, Limit, Name } from "./fields.ts";

const Account = z.object({
  company: Name,
  email: z.email(),
  limits: z.object({ databases: Amount, nodes: Amount, memory_mb: Amount, disk_mb: Amount }),
});
const Limits = z.object({ databases: Limit, nodes: Limit, memory_mb: Limit, disk_mb: Limit }).partial();
const Capability = z.object({ capability: z.enum(["Managed Databases"]), granted: z.boolean() });

export function accountCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get("/admin/accounts", async (request) => listAccounts(db, readPage(request.query as Record<string, unknown>)));

  command(app, deps, { path: "/admin/accounts", body: Account }, async (tx, account) => {
    const { id } = await saveAccount(tx, account, clock());
    return findAccount(tx, id);
  });

  command(app, deps, { path: "/admin/accounts/:id/limits", body: Limits }, async (tx, limits, { id }) => {
    const account = await findAccount(tx, id);
    await setLimits(tx, account.id, limits);
    return findAccount(tx, id);
  });

  command(app, deps, { path: "/admin/accounts/:id/capabilities", body: Capability }, async (tx, wanted, { id }) => {
    const account = await findAccount(tx, id);
    await (wanted.granted ? grantCapability : revokeCapability)(tx, account.id, wanted.capability);
    return findAccount(tx, id);
  });
}
