/**
 * What a card of the fake provider does. A few numbers are those that Stripe's own test mode knows; of any other the
 * seventh and eighth digit say it, so that a test can make as many as it wants. Of the number no more is kept than here.
 */
export type FakeCard = { brand: string; last4: string; does: CardBehaviour };
export type CardBehaviour =
  | "works"
  /** When it is added. */
  | "is declined"
  /** It is added, and declined when it is charged. */
  | "is declined when charged"
  /** It is added, and the connection breaks without an answer. */
  | "breaks the line"
  /** It is added, and no answer ever comes. */
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
