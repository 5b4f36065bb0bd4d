/**
 * The behaviour of a card at the fake provider. A few numbers are those of Stripe's own test mode; for any other the
 * seventh and eighth digits decide, so that a test can make as many as it needs. Nothing else of the number is stored.
 */
export type FakeCard = { brand: string; last4: string; does: CardBehaviour };
export type CardBehaviour =
  | "works"
  /** When it is added. */
  | "is declined"
  /** It is added, and declined when it is charged. */
  | "is declined when charged"
  /** It is added, and the connection breaks without a response. */
  | "breaks the line"
  /** It is added, and no response ever arrives. */
  | "is silent";

const wellKnown: Record<string, CardBehaviour> = {
  "4242424242424242": "works",
  "5555555555554444": "works",
  "378282246310005": "works",
  "4000000000000002": "is declined",
  "4000000000000341": "is declined when charged",
};
const bySeventhAndEighth: Record<string, CardBehaviour> = {
  "02": "is declined",
  "41": "is declined when charged",
  "98": "breaks the line",
  "99": "is silent",
};

export const fakeCardOf = (number: string): FakeCard => ({
  brand: brandOf(number),
  last4: number.slice(-4),
  does: wellKnown[number] ?? bySeventhAndEighth[number.slice(6, 8)] ?? "works",
});

const brands: [RegExp, string][] = [
  [/^3[47]/, "amex"],
  [/^(5[1-5]|2[2-7])/, "mastercard"],
  [/^6/, "discover"],
  [/^4/, "visa"],
];
const brandOf = (number: string): string => brands.find(([begins]) => begins.test(number))?.[1] ?? "unknown";
