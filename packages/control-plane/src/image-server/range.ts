/** From the first byte, inclusive, to the last, exclusive. */
export type Part = { from: number; to: number };

/**
 * The requested part of `bytes`. Undefined: all of it, also for headers that may be ignored; `none`: there is no such
 * part.
 */
export function readRange(header: string | undefined, bytes: number): Part | "none" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === "" || last === "" ? bytes : Math.min(bytes, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  return from < to ? { from, to } : "none";
}
