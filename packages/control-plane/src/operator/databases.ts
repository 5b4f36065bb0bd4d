import { Id } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { forceBootstrap, listLostTransactions, undeleteDatabase } from "#databases/index.ts";
import { DomainError } from "#platform/errors.ts";
import { readPage } from "#platform/http/page.ts";
import { command, type CommandDeps } from "./command.ts";
import { listDatabases, listDeletedDatabases } from "./database-list.ts";
import { texts } from "./texts.ts";

export type DatabaseCommandDeps = CommandDeps & { restoreDeadlineSeconds: number };

export function databaseCommands(app: FastifyInstance, deps: DatabaseCommandDeps): void {
  const { db, clock, restoreDeadlineSeconds } = deps;

  app.get("/admin/databases", async (request) => listDatabases(db, readPage(request.query as Record<string, unknown>)));
  app.get("/admin/deleted-databases", async (request) =>
    listDeletedDatabases(db, clock(), readPage(request.query as Record<string, unknown>)),
  );

  const idOf = (text: string | undefined): number => {
    const id = Id.safeParse(text).data;
    if (id === undefined) throw new DomainError("not-found", { reason: texts.databaseUnknown({ id: text }) });
    return id;
  };

  app.get<{ Params: { id: string } }>("/admin/databases/:id/lost-transactions", async ({ params }) => ({
    data: await listLostTransactions(db, idOf(params.id)),
  }));

  const undelete = { path: "/admin/databases/:id/undelete", body: z.object({}), notifies: "relay" } as const;
  command(app, deps, undelete, async (tx, _body, { id }) => {
    const database = idOf(id);
    const settings = { at: clock(), deadlineSeconds: restoreDeadlineSeconds };
    const { account_id: account, label, status, data_until } = await undeleteDatabase(tx, database, settings);
    return { id: database, account, label, status, data_until };
  });

  const BootstrapRequest = z.object({ accept_loss: z.boolean().default(false) });
  const bootstrap = {
    path: "/admin/databases/:id/bootstrap",
    body: BootstrapRequest,
    notifies: ["relay", "host"],
  } as const;
  command(app, deps, bootstrap, async (tx, { accept_loss: acceptsLoss }, { id }) => {
    const options = { at: clock(), deadlineSeconds: restoreDeadlineSeconds, acceptsLoss };
    return { id: idOf(id), ...(await forceBootstrap(tx, idOf(id), options)) };
  });
}
