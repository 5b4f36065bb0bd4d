import { US_ZIP } from "@moorage/contract";
import { type Selectable, sql } from "kysely";
import type { Principal } from "#identity/index.ts";
import type { AddCardRequest, Admission, ChargeProvider } from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, type ErrorDetail } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { noProvider } from "./charge.ts";
import { countMethods, lockHolder } from "./method-store.ts";
import { texts } from "./texts.ts";

export const MOST_METHODS = 6;
const DAY_MS = 24 * 3_600_000;
const DAYS_KEPT = 2;

export type CardAdmissionDeps = {
  db: Db;
  clock: Clock;
  provider: ChargeProvider | undefined;
  /** Whether card numbers are accepted at all. */
  cardsRaw: boolean;
  cardsPerDay: number;
};

type Attempt = Selectable<Tables["card_attempts"]>;

/** Decides whether a card may be stored at the provider for this account, and for which holder. */
export async function admitCard(
  { db, clock, provider, cardsRaw, cardsPerDay }: CardAdmissionDeps,
  by: Principal,
  { card }: AddCardRequest,
  idempotency: Idempotency,
): Promise<Admission> {
  if (provider === undefined) throw noProvider();
  if (!cardsRaw) throw rawCardsOff();
  // `cards` knows what is wrong with it.
  if (card === null) return {};
  return db.transaction().execute(async (tx) => {
    const now = clock();
    await idempotency.requireNotDone(tx);
    const holder = await lockHolder(tx, by.accountId);
    const request = nameOf(idempotency);
    const open = request === null ? undefined : await findOpenAttempt(tx, by.accountId, request);
    const admit = (id: number): Admission => ({
      attempt: {
        id,
        holder: {
          accountUuid: holder.euuid,
          customer: holder.provider_customer,
          zip: holder.zip,
          country: holder.country,
        },
      },
    });
    if (open !== undefined) return admit(open.id);
    requireZip(holder);
    if ((await countMethods(tx, by.accountId)) >= MOST_METHODS) throw tooManyMethods();
    requireFewerPerDay(cardsPerDay, await countAttempts(tx, by.accountId, new Date(now.getTime() - DAY_MS)));
    return admit((await insertAttempt(tx, { account_id: by.accountId, at: now, request })).id);
  });
}

const rawCardsOff = (): DomainError => new DomainError("forbidden", { reason: texts.cardNumbersNotAccepted() });

/** One attempt at the provider per key, even if the answer to the first request was lost. */
function nameOf(idempotency: Idempotency): string | null {
  const { claimUser, claimOperation, keySha256 } = idempotency.columns({});
  return keySha256 === null ? null : `${claimUser} ${claimOperation} ${keySha256.toString("base64url")}`;
}

/** Banks compare it with the one on file. */
export function requireZip({ zip, country }: { zip: string; country: string }): void {
  if (zip.trim() === "") throw refuse({ field: "zip", reason: texts.zipMissing() });
  if (country === "US" && !US_ZIP.test(zip)) throw refuse({ field: "zip", reason: texts.zipNotUs() });
}

export const tooManyMethods = (): DomainError => refuse({ reason: texts.methodLimitReached({ most: MOST_METHODS }) });

/** Prevents testing of stolen card numbers. */
function requireFewerPerDay(most: number, { added, refused }: { added: number; refused: number }): void {
  if (added >= most) throw refuse({ reason: texts.cardsPerDayReached({ most }) });
  if (refused >= most) throw refuse({ reason: texts.declinedCardsPerDayReached({ most }) });
}

const refuse = (error: ErrorDetail): DomainError => new DomainError("wrong-state", error);

const findOpenAttempt = (tx: Tx, accountId: number, request: string): Promise<Attempt | undefined> =>
  tx
    .selectFrom("card_attempts")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("request", "=", request)
    .where("outcome", "is", null)
    .executeTakeFirst();

/** An attempt without a known outcome counts as added: it may have been. */
const countAttempts = (tx: Tx, accountId: number, since: Date): Promise<{ added: number; refused: number }> =>
  tx
    .selectFrom("card_attempts")
    .select(({ fn }) => [
      fn.countAll<number>().filterWhere("outcome", "is distinct from", "refused").as("added"),
      fn.countAll<number>().filterWhere("outcome", "=", "refused").as("refused"),
    ])
    .where("account_id", "=", accountId)
    .where("at", ">", since)
    .executeTakeFirstOrThrow();

const insertAttempt = (tx: Tx, row: Pick<Attempt, "account_id" | "at" | "request">): Promise<Attempt> =>
  tx
    .insertInto("card_attempts")
    .values({ ...row, outcome: null })
    .returningAll()
    .executeTakeFirstOrThrow();

export const saveAttemptOutcome = (
  tx: Tx,
  { account_id, id }: Pick<Attempt, "account_id" | "id">,
  outcome: NonNullable<Attempt["outcome"]>,
): Promise<unknown> =>
  tx.updateTable("card_attempts").set({ outcome }).where("account_id", "=", account_id).where("id", "=", id).execute();

/** Removes attempts that no rule counts any more. */
export const createCardAttemptSweep =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  (): Promise<void> =>
    deleteInBatches(db, (most) => {
      const before = new Date(clock().getTime() - DAYS_KEPT * DAY_MS);
      return sql`
        delete from card_attempts where ctid = any(array(
          select ctid from card_attempts where at < ${before} limit ${most} for update skip locked))`;
    });
