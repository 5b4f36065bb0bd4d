import type { OperatorOperation } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { type Channel, notify } from "#platform/db/notifications.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readParams, urlsOf } from "#platform/http/operation-path.ts";
import { type PageRequest, readPage } from "#platform/http/page.ts";
import { validate } from "#platform/http/validate.ts";
import { texts } from "./texts.ts";

export type CommandDeps = { db: Db; clock: Clock };

type Call<O extends OperatorOperation> = {
  params: O["params"] extends z.ZodObject ? z.output<O["params"]> : undefined;
  body: O["body"] extends z.ZodObject ? z.output<O["body"]> : undefined;
  query: O["query"] extends z.ZodObject ? z.output<O["query"]> : undefined;
  page: O["paged"] extends true ? PageRequest : undefined;
};
type Reply<O extends OperatorOperation> = z.output<O["reply"]>;
export type Run<O extends OperatorOperation> = (tx: Tx, call: Call<O>) => Promise<Reply<O>>;

/**
 * Registers an operation of the contract as a route; there is no other way. The operator's token was checked before, for
 * every path.
 */
export function operatorRoute<const O extends OperatorOperation>(
  app: FastifyInstance,
  operation: O,
  handle: (call: Call<O>, request: FastifyRequest) => Promise<Reply<O>>,
): void {
  const handler = async (request: FastifyRequest): Promise<unknown> => handle(callOf(operation, request), request);
  for (const url of urlsOf(operation, [operation.path])) app.route({ method: operation.method, url, handler });
}

/** An operation that changes something: its change and its audit entry, in one transaction. */
export function command<const O extends OperatorOperation>(
  app: FastifyInstance,
  { db, clock }: CommandDeps,
  operation: O,
  run: Run<O>,
  /** The channels to notify after the commit. */
  ...notifies: readonly Channel[]
): void {
  const { method, path } = operation;
  operatorRoute(app, operation, async (call, request) => {
    const reply = await db.transaction().execute(async (tx) => {
      const done = await run(tx, call);
      await audit(tx, {
        at: clock(),
        account: null,
        actor: "operator",
        action: `${method} ${path}`,
        target: request.url,
        detail: (call.body as object | undefined) ?? {},
      });
      return done;
    });
    for (const channel of notifies) await notify(db, channel);
    return reply;
  });
}

function callOf<O extends OperatorOperation>(operation: O, request: FastifyRequest): Call<O> {
  const { body, query, paged } = operation as OperatorOperation;
  const sent = request.params as Record<string, string>;
  const read = readParams(operation, sent);
  if ("wrong" in read) throw missing(read.wrong, sent);
  return {
    params: read.params,
    body: body === undefined ? undefined : validate(body, request.body ?? {}),
    query: query === undefined ? undefined : validate(query, request.query ?? {}),
    page: paged === true ? readPage(request.query as Record<string, unknown>) : undefined,
  } as Call<O>;
}

/** An id that no object can have is answered like one that no object has. */
const unknown: Readonly<Record<string, (id: string | undefined, sent: Readonly<Record<string, string>>) => Text>> = {
  accountId: (id) => texts.accountUnknown({ id }),
  computeId: (id) => texts.computeUnknown({ id }),
  databaseId: (id) => texts.databaseUnknown({ id }),
  diskId: (id) => texts.diskUnknown({ id }),
  hostId: (id) => texts.hostUnknown({ id }),
  invoiceId: (id) => texts.invoiceUnknown({ id }),
  maintenanceId: (id) => texts.maintenanceUnknown({ id }),
  tokenId: (id, sent) => texts.tokenUnknown({ account: Number(sent["accountId"]), id }),
};

function missing(param: string, sent: Readonly<Record<string, string>>): DomainError {
  const reason = unknown[param]?.(sent[param], sent);
  return reason === undefined ? notFound() : new DomainError("not-found", { reason });
}
