import { Moment, toDate, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { grantCredit, listCredits, type Credit } from "#billing/index.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Name } from "./fields.ts";
import { toDollars, toMicros } from "./micro-dollars.ts";

const Cents = z
  .string()
  .regex(/^(?!0*(?:\.0*)?$)\d{1,7}(?:\.\d{1,2})?$/, 'dollars above 0 as text with at most 2 decimals, such as "100"');
const NewCredit = z.object({
  /** Short: unique in an account, and shown on its bills. */
  summary: Name,
  description: z.string().max(1024).default(""),
  credit: Cents,
  monthly_cap: Cents.optional(),
  expires: Moment.optional(),
});

/** Credits of an account, and how much of each a month may use. */
export function creditCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;
  const path = "/admin/accounts/:id/credits";

  app.get(path, async (request) => {
    const { id } = await findAccount(db, (request.params as { id: string }).id);
    return { data: (await listCredits(db, id)).map(viewOf) };
  });

  command(app, deps, { path, body: NewCredit }, async (tx, { credit, monthly_cap, expires, ...words }, params) => {
    const account = await findAccount(tx, params["id"]);
    const granted = await grantCredit(
      tx,
      {
        account_id: account.id,
        ...words,
        credit_micros: toMicros(credit),
        monthly_cap_micros: toMicros(monthly_cap ?? credit),
        expires_at: expires === undefined ? null : toDate(expires),
      },
      clock(),
    );
    const [saved] = (await listCredits(tx, account.id)).filter(({ id }) => id === granted.id);
    return viewOf(saved as Credit);
  });
}

const viewOf = (credit: Credit) => ({
  id: credit.id,
  summary: credit.summary,
  description: credit.description,
  credit: toDollars(credit.credit_micros),
  monthly_cap: toDollars(credit.monthly_cap_micros),
  remaining: toDollars(credit.credit_micros - credit.used_micros),
  granted: toTimestamp(credit.granted_at),
  expires: credit.expires_at === null ? null : toTimestamp(credit.expires_at),
});
