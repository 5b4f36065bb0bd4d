/** No field name of the API is half as long, or has other characters, in any style. */
const couldBeMeant = /^[\w .-]{1,64}$/;

/** The name that was probably meant by an unknown one: in another style, or mistyped. */
export function likelyMeant(name: string, known: readonly string[]): string | undefined {
  const written = plain(name);
  if (!couldBeMeant.test(name) || written === "") return undefined;
  const near = known
    .map((each) => ({ each, slips: slipsBetween(written, plain(each)), allowed: slipsAllowed(plain(each)) }))
    .filter(({ slips, allowed }) => slips <= allowed)
    .toSorted((one, other) => one.slips - other.slips);
  return near[0]?.each;
}

/** `allowList`, `allow-list` and `allow_list` are one name in three styles. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

/** In a short word one typing error already makes another word. */
const slipsAllowed = (name: string): number => (name.length < 4 ? 0 : name.length < 9 ? 1 : 2);

/** Letters omitted, added or replaced, and neighbours swapped. */
function slipsBetween(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      (rows[row] as number[])[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (same ? 0 : 1),
        swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return at(one.length, other.length);
}
