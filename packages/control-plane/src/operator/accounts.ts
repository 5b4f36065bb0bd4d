import { Company, Email } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { reopenAccount } from "#account/index.ts";
import { saveAccount } from "#identity/index.ts";
import { readPage } from "#platform/http/page.ts";
import {
  findAccount,
  grantCapability,
  listAccounts,
  revokeCapability,
  setLimits,
  showAvailability,
} from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Amount, Limit, Nothing } from "./fields.ts";
import { showAccount } from "./show-account.ts";

const Account = z.object({
  // With the same rules as for the tenant: clients send back what they read.
  company: Company.min(1, "a name"),
  email: Email,
  limits: z.object({ databases: Amount, nodes: Amount, memory_mb: Amount, disk_mb: Amount }),
});
const Limits = z.object({ databases: Limit, nodes: Limit, memory_mb: Limit, disk_mb: Limit }).partial();
const Switch = z.object({ on: z.boolean() });
const Capability = z.object({ capability: z.enum(["Managed Databases"]), granted: z.boolean() });

export function accountCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get("/admin/accounts", async (request) => listAccounts(db, readPage(request.query as Record<string, unknown>)));

  app.get<{ Params: { id: string } }>("/admin/accounts/:id", async ({ params }) => showAccount(db, params.id, clock()));

  command(app, deps, { path: "/admin/accounts", body: Account }, async (tx, account) => {
    const { id } = await saveAccount(tx, account, clock());
    return findAccount(tx, id);
  });

  command(app, deps, { path: "/admin/accounts/:id/limits", body: Limits }, async (tx, limits, { id }) => {
    const account = await findAccount(tx, id);
    await setLimits(tx, account.id, limits);
    return findAccount(tx, id);
  });

  command(app, deps, { path: "/admin/accounts/:id/capabilities", body: Capability }, async (tx, change, { id }) => {
    const account = await findAccount(tx, id);
    await (change.granted ? grantCapability : revokeCapability)(tx, account.id, change.capability);
    return findAccount(tx, id);
  });

  command(app, deps, { path: "/admin/accounts/:id/availability", body: Switch }, async (tx, { on }, { id }) => {
    const account = await findAccount(tx, id);
    await showAvailability(tx, account.id, on);
    return { id: account.id, sees_availability: on };
  });

  const reopen = { path: "/admin/accounts/:id/reopen", body: Nothing, notifies: "identity" } as const;
  command(app, deps, reopen, async (tx, _, { id }) => {
    const account = await findAccount(tx, id);
    await reopenAccount(tx, account.id, clock());
    return findAccount(tx, id);
  });
}
