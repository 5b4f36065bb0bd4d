import { Id } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { undeleteDatabase } from "#databases/index.ts";
import { DomainError } from "#platform/errors.ts";
import { readPage } from "#platform/http/page.ts";
import { command, type CommandDeps } from "./command.ts";
import { listDatabases, listDeletedDatabases } from "./database-list.ts";

export type DatabaseCommandDeps = CommandDeps & { restoreDeadlineSeconds: number };

export function databaseCommands(app: FastifyInstance, deps: DatabaseCommandDeps): void {
  const { db, clock, restoreDeadlineSeconds } = deps;

  app.get("/admin/databases", async (request) => listDatabases(db, readPage(request.query as Record<string, unknown>)));
  app.get("/admin/deleted-databases", async (request) =>
    listDeletedDatabases(db, clock(), readPage(request.query as Record<string, unknown>)),
  );

  const undelete = { path: "/admin/databases/:id/undelete", body: z.object({}), tells: "relay" } as const;
  command(app, deps, undelete, async (tx, _body, { id }) => {
    const database = Id.safeParse(id).data;
    if (database === undefined) throw new DomainError("not-found", { reason: `No database has the id ${id}.` });
    const settings = { at: clock(), deadlineSeconds: restoreDeadlineSeconds };
    const { account_id: account, label, status, data_until } = await undeleteDatabase(tx, database, settings);
    return { id: database, account, label, status, data_until };
  });
}
