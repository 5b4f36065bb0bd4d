import { Moment, toDate, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { grantPromotion, listPromotions, type Promotion } from "#billing/index.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Name } from "./fields.ts";
import { toDollars, toMicros } from "./micro-dollars.ts";

const Cents = z
  .string()
  .regex(/^(?!0*(?:\.0*)?$)\d{1,7}(?:\.\d{1,2})?$/, 'dollars above 0 as text with at most 2 decimals, such as "100"');
const NewPromotion = z.object({
  /** In a few words: an account has each once, and its bills name it. */
  summary: Name,
  description: z.string().max(1024).default(""),
  credit: Cents,
  monthly_cap: Cents.optional(),
  expires: Moment.optional(),
});

/** Credit that an account is given, and how much of it a month may use. */
export function promotionCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;
  const path = "/admin/accounts/:id/promotions";

  app.get(path, async (request) => {
    const { id } = await findAccount(db, (request.params as { id: string }).id);
    return { data: (await listPromotions(db, id)).map(viewOf) };
  });

  command(app, deps, { path, body: NewPromotion }, async (tx, { credit, monthly_cap, expires, ...words }, params) => {
    const account = await findAccount(tx, params["id"]);
    const granted = await grantPromotion(
      tx,
      {
        ...{ account_id: account.id, ...words },
        credit_micros: toMicros(credit),
        monthly_cap_micros: toMicros(monthly_cap ?? credit),
        expires_at: expires === undefined ? null : toDate(expires),
      },
      clock(),
    );
    const [saved] = (await listPromotions(tx, account.id)).filter(({ id }) => id === granted.id);
    return viewOf(saved as Promotion);
  });
}

const viewOf = (promotion: Promotion) => ({
  id: promotion.id,
  summary: promotion.summary,
  description: promotion.description,
  credit: toDollars(promotion.credit_micros),
  monthly_cap: toDollars(promotion.monthly_cap_micros),
  remaining: toDollars(promotion.credit_micros - promotion.used_micros),
  granted: toTimestamp(promotion.granted_at),
  expires: promotion.expires_at === null ? null : toTimestamp(promotion.expires_at),
});
