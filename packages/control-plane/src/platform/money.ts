/** Money is in whole millionths of a dollar, everywhere but on the wire. */
export const DOLLAR = 1_000_000;
export const CENT = 10_000;
