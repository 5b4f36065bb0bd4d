import type { Insertable, Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import { lockBooks } from "./lock-books.ts";
import type { Promotion } from "./rating.ts";
import { readPromotions } from "./rating-input-store.ts";

type PromotionRow = Selectable<Tables["promotions"]>;

/** Later than every invoice: with all that was taken so far. */
const ALWAYS = "infinity";

export const listPromotions = async (db: Db | Tx, accountId: number): Promise<Promotion[]> =>
  (await readPromotions(db, [accountId], ALWAYS)).sort((a, b) => a.id - b.id);

type NewPromotion = Omit<Insertable<Tables["promotions"]>, "id" | "granted_at">;

/** Once per account and summary, so that the command can be repeated. A month that was invoiced does not get it. */
export async function grantPromotion(tx: Tx, promotion: NewPromotion, now: Date): Promise<PromotionRow> {
  const { account_id, summary, credit_micros, monthly_cap_micros, expires_at } = promotion;
  const { at } = await lockBooks(tx, account_id, now);
  const granted = await tx
    .selectFrom("promotions")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("summary", "=", summary)
    .executeTakeFirst();
  if (granted === undefined)
    return tx
      .insertInto("promotions")
      .values({ ...promotion, granted_at: at })
      .returningAll()
      .executeTakeFirstOrThrow();
  const isSame =
    granted.credit_micros === credit_micros &&
    granted.monthly_cap_micros === monthly_cap_micros &&
    granted.expires_at?.getTime() === expires_at?.getTime();
  if (isSame) return granted;
  throw new DomainError("wrong-state", {
    reason: `Account ${account_id} has a promotion "${summary}" with other terms, and keeps it. Grant another one under another summary.`,
  });
}
