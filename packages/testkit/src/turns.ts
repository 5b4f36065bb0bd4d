import { createHash } from "node:crypto";

/**
 * `.ci/run` sets this to the number of its commit, for the short forms of long tests: consecutive commits run different
 * parts. Without it everything runs.
 */
export const currentTurn = (): number | undefined => {
  const turn = process.env["MOORAGE_TURN"];
  return turn === undefined ? undefined : Number(turn);
};

/** Every second item, the others with the next turn. */
export function everySecond<Item>(items: readonly Item[], nameOf: (item: Item) => string = String): Item[] {
  const turn = currentTurn();
  return turn === undefined ? [...items] : partOf(items, 2, nameOf, turn);
}

/** The turn of something within what itself runs with every second one: otherwise it would always get the same part. */
export const turnWithin = (turn: number): number => Math.floor(turn / 2);

/** The cases of a test whose turn it is. The file of the test may run with every second turn only. */
export function inTurn<Case>(cases: readonly Case[], parts: number): Case[] {
  const turn = currentTurn();
  return turn === undefined ? [...cases] : partOf(cases, parts, nameOfRow, turnWithin(turn));
}

/** The same part whatever the order of the items, in the order that they have. */
export function partOf<Item>(
  items: readonly Item[],
  parts: number,
  nameOf: (item: Item) => string,
  turn: number,
): Item[] {
  const ranked = items.map((item) => ({ item, rank: rankOf(nameOf(item)) }));
  const shuffled = ranked.toSorted((one, other) => (one.rank < other.rank ? -1 : 1));
  const part = new Set(shuffled.filter((_, at) => at % parts === turn % parts).map(({ item }) => item));
  return items.filter((item) => part.has(item));
}

/** How many trials a test makes: MOORAGE_TRIALS, or its short form in `.ci/run`, or all. */
export const trials = ({ short, all }: { short: number; all: number }): number =>
  Number(process.env["MOORAGE_TRIALS"] ?? (currentTurn() === undefined ? all : short));

export const rankOf = (item: string): string => createHash("sha256").update(`moorage ${item}`).digest("hex");

/** The texts and numbers of a row of `test.each`. */
const nameOfRow = (row: unknown): string =>
  [row]
    .flat()
    .filter((part) => typeof part === "string" || typeof part === "number")
    .join(" ");
