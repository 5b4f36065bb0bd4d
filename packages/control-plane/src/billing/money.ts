import { CENT, DOLLAR } from "#platform/money.ts";

/** For the wire. Exact: division yields the floating-point number nearest to the quotient. */
export const toDollars = (micros: number): number => micros / DOLLAR;

/** For people: with cents, such as -$1,204.50. More decimals only where there are any, as in a price. */
export function inDollars(micros: number): string {
  const cents = micros % CENT === 0;
  const text = Math.abs(toDollars(micros)).toLocaleString("en-US", {
    minimumFractionDigits: 2,
    maximumFractionDigits: cents ? 2 : 6,
  });
  return `${micros < 0 ? "-" : ""}$${text}`;
}

/** For wire fields that are text: such as 1204.50. */
export const inCents = (micros: number): string => toDollars(micros).toFixed(2);
