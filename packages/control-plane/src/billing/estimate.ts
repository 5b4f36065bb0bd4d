import { type Promotion as PromotionView, toTimestamp } from "@moorage/contract";
import type { Db, Tx } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import { inCents } from "./money.ts";
import { monthOf } from "./months.ts";
import { rateOpenMonths } from "./open-months.ts";
import { readCredits } from "./rating-input-store.ts";
import type { Credit, RatedInvoice } from "./rating.ts";

/** What an account has used since its last invoice, rated as if it were invoiced now. */
export async function estimate(db: Db | Tx, accountId: number, now: Date): Promise<RatedInvoice> {
  const account = await db
    .selectFrom("accounts")
    .selectAll()
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow(notFound);
  if (account.closed_at !== null) return nothing;
  const months = (await rateOpenMonths(db, [account], now)).get(accountId) ?? [];
  return months.map(({ rated }) => rated).reduce(together, nothing);
}

const nothing: RatedInvoice = { lines: [], subtotal_micros: 0, tax_micros: 0, total_micros: 0, tax_summary: [] };

/** For some minutes after a month's end there are two open months, until the invoice exists. */
const together = (a: RatedInvoice, b: RatedInvoice): RatedInvoice => ({
  lines: [...a.lines, ...b.lines],
  subtotal_micros: a.subtotal_micros + b.subtotal_micros,
  tax_micros: a.tax_micros + b.tax_micros,
  total_micros: a.total_micros + b.total_micros,
  tax_summary: [...a.tax_summary, ...b.tax_summary],
});

/** Active credits with something left, the oldest first, after this month's estimated use. */
export async function viewCredits(
  db: Db | Tx,
  accountId: number,
  now: Date,
  { lines }: Pick<RatedInvoice, "lines">,
): Promise<PromotionView[]> {
  const credits = await readCredits(db, [accountId], monthOf(now));
  return credits
    .filter(({ granted_at, expires_at }) => granted_at <= now && (expires_at === null || expires_at > now))
    .filter(({ credit_micros, used_micros }) => used_micros < credit_micros)
    .sort((a, b) => a.granted_at.getTime() - b.granted_at.getTime() || a.id - b.id)
    .map((credit) => viewOf(credit, takenFrom(credit, lines)));
}

const takenFrom = ({ id }: Credit, lines: RatedInvoice["lines"]): number =>
  lines.reduce((sum, { credit_id, amount_micros }) => (credit_id === id ? sum - amount_micros : sum), 0);

function viewOf(credit: Credit, takenMicros: number): PromotionView {
  const remaining = credit.credit_micros - credit.used_micros;
  return {
    credit_monthly_cap: inCents(credit.monthly_cap_micros),
    credit_remaining: inCents(remaining),
    description: credit.description,
    expire_dt: credit.expires_at === null ? null : toTimestamp(credit.expires_at),
    image_url: credit.image_url,
    service_type: credit.service_type,
    summary: credit.summary,
    this_month_credit_remaining: inCents(Math.max(0, Math.min(credit.monthly_cap_micros, remaining) - takenMicros)),
  };
}
