import { type Selectable, sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import type { Tables } from "#platform/db/tables.ts";

export type Attempt = Selectable<Tables["card_attempts"]>;

export const insertAttempt = (tx: Tx, row: Pick<Attempt, "account_id" | "at" | "request">): Promise<Attempt> =>
  tx
    .insertInto("card_attempts")
    .values({ ...row, outcome: null })
    .returningAll()
    .executeTakeFirstOrThrow();

export const findOpenAttempt = (tx: Tx, accountId: number, request: string): Promise<Attempt | undefined> =>
  tx
    .selectFrom("card_attempts")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("request", "=", request)
    .where("outcome", "is", null)
    .executeTakeFirst();

/** An attempt without a known outcome counts as added: it may have been. */
export const countAttempts = (tx: Tx, accountId: number, since: Date): Promise<{ added: number; refused: number }> =>
  tx
    .selectFrom("card_attempts")
    .select(({ fn }) => [
      fn.countAll<number>().filterWhere("outcome", "is distinct from", "refused").as("added"),
      fn.countAll<number>().filterWhere("outcome", "=", "refused").as("refused"),
    ])
    .where("account_id", "=", accountId)
    .where("at", ">", since)
    .executeTakeFirstOrThrow();

export const saveAttemptOutcome = (
  tx: Tx,
  { account_id, id }: Pick<Attempt, "account_id" | "id">,
  outcome: NonNullable<Attempt["outcome"]>,
): Promise<unknown> =>
  tx.updateTable("card_attempts").set({ outcome }).where("account_id", "=", account_id).where("id", "=", id).execute();

const DAYS_KEPT = 2;

/** Removes attempts that no rule counts any more. */
export const createCardAttemptSweep =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  (): Promise<void> =>
    deleteInBatches(db, (most) => {
      const before = new Date(clock().getTime() - DAYS_KEPT * 24 * 3_600_000);
      return sql`
        delete from card_attempts where ctid = any(array(
          select ctid from card_attempts where at < ${before} limit ${most} for update skip locked))`;
    });
