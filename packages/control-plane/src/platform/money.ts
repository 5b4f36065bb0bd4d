/** Money is in whole millionths of a dollar, everywhere but on the wire. */
export const DOLLAR = 1_000_000;
export const CENT = 10_000;

const DIGITS = 6;

/** Exact: both parts are whole numbers, and the result is far below 2^53. */
export function toMicros(dollars: string): number {
  const [whole = "", fraction = ""] = dollars.split(".");
  return Number(whole) * DOLLAR + Number(fraction.padEnd(DIGITS, "0"));
}

/** With cents, and more decimals only where needed. */
export function toDollars(micros: number): string {
  const fraction = String(micros % DOLLAR).padStart(DIGITS, "0");
  return `${Math.floor(micros / DOLLAR)}.${fraction.replace(/0{1,4}$/, "")}`;
}
