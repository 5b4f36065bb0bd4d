import type { Selectable } from "kysely";
import { inDollars } from "#billing/index.ts";
import type { ChargeName } from "#payment-provider/index.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { CENT, DOLLAR } from "#platform/money.ts";
import { texts } from "./texts.ts";

export type ChargeRow = Selectable<Tables["charges"]>;
export type Purpose = ChargeRow["purpose"];

const LEAST = 5 * DOLLAR;
const USUAL_MOST = 2_000 * DOLLAR;
const MOST = 50_000 * DOLLAR;

/** Providers have a minimum, since a smaller charge costs more than it yields. */
export const LEAST_CHARGE_MICROS = DOLLAR / 2;

/** Parses what clients send, such as `120.5` or `$120.50`. */
export const microsOf = (usd: string): number => Math.round(Number(usd.replace("$", "")) * 100) * CENT;
export const centsOf = (micros: number): number => micros / CENT;
export const microsOfCents = (cents: number): number => cents * CENT;

/** The balance can always be paid, up to an absolute maximum; amounts far below or above it are refused. */
export function requirePayable(amountMicros: number, balanceMicros: number): void {
  const least = balanceMicros > 0 ? Math.min(LEAST, balanceMicros) : LEAST;
  const most = Math.min(MOST, Math.max(USUAL_MOST, balanceMicros));
  if (amountMicros < least || amountMicros > most)
    throw invalid("usd", texts.amountOutOfRange({ least: inDollars(least), most: inDollars(most) }));
}

/** The provider identifies a charge by this. */
export const nameOf = ({ id, created_at }: Pick<ChargeRow, "id" | "created_at">, accountUuid: string): ChargeName => ({
  chargeId: id,
  accountUuid,
  opened: created_at.toISOString(),
});
export const keyOf = ({ accountUuid, chargeId, opened }: ChargeName): string =>
  `charge-${accountUuid}-${chargeId}-${opened}`;

const HOUR_MS = 3_600_000;
/** The provider remembers a key for a day. After that a retry would charge again, so the key is never sent again. */
const KEY_HOURS = 20;
export const isKeyStillKnown = (createdAt: Date, now: Date): boolean =>
  now.getTime() - createdAt.getTime() < KEY_HOURS * HOUR_MS;

/** Longer than any pursuit takes: no other process starts one within it. */
const LEASE_SECONDS = 90;
export const leaseUntil = (now: Date): Date => new Date(now.getTime() + LEASE_SECONDS * 1000);

const FIRST_WAIT_SECONDS = 10;
const LONGEST_WAIT_SECONDS = 900;
/** When to check an unknown outcome again. */
export const nextTry = (attempts: number, now: Date): Date =>
  new Date(now.getTime() + Math.min(FIRST_WAIT_SECONDS * 2 ** (attempts - 1), LONGEST_WAIT_SECONDS) * 1000);

export const noProvider = (): DomainError => new DomainError("wrong-state", { reason: texts.noProvider() });

export const beingMade = ({ amount_micros }: Pick<ChargeRow, "amount_micros">): DomainError =>
  new DomainError("wrong-state", { reason: texts.inProgress({ amount: inDollars(amount_micros) }) });

export const declined = ({ reason }: Pick<ChargeRow, "reason">): DomainError =>
  new DomainError("wrong-state", { reason: reason === null ? texts.declined() : texts.declinedBecause({ reason }) });

export const notKnownYet = ({ amount_micros }: Pick<ChargeRow, "amount_micros">): DomainError =>
  new DomainError("unavailable", { reason: texts.unconfirmed({ amount: inDollars(amount_micros) }) });
