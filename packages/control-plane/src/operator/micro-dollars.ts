import { z } from "zod";
import { DOLLAR } from "#platform/money.ts";

const DIGITS = 6;

/** A price as people write it. A JSON number would be rounded before it arrives here. */
export const Dollars = z
  .string()
  .regex(/^\d{1,7}(?:\.\d{1,6})?$/, 'dollars as text with at most 6 decimals, such as "0.0225"');

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
