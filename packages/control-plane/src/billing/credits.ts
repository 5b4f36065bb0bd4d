import type { Insertable, Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import { lockBilling } from "./lock-billing.ts";
import type { Credit } from "./rating.ts";
import { readCredits } from "./rating-input-store.ts";
import { texts } from "./texts.ts";

type CreditRow = Selectable<Tables["credits"]>;

/** Later than every invoice: counts everything used so far. */
const ALWAYS = "infinity";

export const listCredits = async (db: Db | Tx, accountId: number): Promise<Credit[]> =>
  (await readCredits(db, [accountId], ALWAYS)).sort((a, b) => a.id - b.id);

type NewCredit = Omit<Insertable<Tables["credits"]>, "id" | "granted_at">;

/** One per account and summary, so that the command can be repeated. It does not apply to invoiced months. */
export async function grantCredit(tx: Tx, credit: NewCredit, now: Date): Promise<CreditRow> {
  const { account_id, summary, credit_micros, monthly_cap_micros, expires_at } = credit;
  const { at } = await lockBilling(tx, account_id, now);
  const granted = await tx
    .selectFrom("credits")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("summary", "=", summary)
    .executeTakeFirst();
  if (granted === undefined)
    return tx
      .insertInto("credits")
      .values({ ...credit, granted_at: at })
      .returningAll()
      .executeTakeFirstOrThrow();
  const isSame =
    granted.credit_micros === credit_micros &&
    granted.monthly_cap_micros === monthly_cap_micros &&
    granted.expires_at?.getTime() === expires_at?.getTime();
  if (isSame) return granted;
  throw new DomainError("wrong-state", { reason: texts.creditExists({ accountId: account_id, summary }) });
}
