import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { type Channel, notify } from "#platform/db/notifications.ts";
import { validate } from "#platform/http/validate.ts";

export type CommandDeps = { db: Db; clock: Clock };

type Command<Schema extends z.ZodType> = {
  path: `/admin/${string}`;
  method?: "POST" | "PUT";
  body: Schema;
  /** The channels to notify after the commit. */
  notifies?: Channel | readonly Channel[];
};
type Params = Readonly<Record<string, string>>;

/** One command of the operator: its change and its audit entry, in one transaction. */
export function command<Schema extends z.ZodType>(
  app: FastifyInstance,
  { db, clock }: CommandDeps,
  { path, method = "POST", body: schema, notifies }: Command<Schema>,
  run: (tx: Tx, body: z.output<Schema>, params: Params) => Promise<object>,
): void {
  const handler = async (request: FastifyRequest): Promise<object> => {
    const body = validate(schema, request.body ?? {});
    const reply = await db.transaction().execute(async (tx) => {
      const done = await run(tx, body, request.params as Params);
      await audit(tx, {
        at: clock(),
        account: null,
        actor: "operator",
        action: `${method} ${path}`,
        target: request.url,
        detail: body as object,
      });
      return done;
    });
    for (const channel of [notifies ?? []].flat()) await notify(db, channel);
    return reply;
  };
  app.route({ method, url: path, handler });
}
