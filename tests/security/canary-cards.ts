import { randomInt } from "node:crypto";
import { canaryOf } from "./card-forms.ts";
import type { Canary } from "./search.ts";

/** The fate of a card: its seventh and eighth digit control the fake provider (see fake-cards.ts). */
export type Fate = "kept" | "declined" | "line broken" | "no answer" | "malformed" | "misdirected";
const digits: Record<Fate, string> = {
  kept: "10",
  declined: "02",
  "line broken": "98",
  "no answer": "99",
  malformed: "20",
  misdirected: "30",
};
/** The fates of ten cards of an account. An account keeps at most six. */
const fates: readonly Fate[] = [
  ...(["kept", "kept", "kept", "declined", "declined"] as const),
  ...(["line broken", "no answer", "malformed", "malformed", "misdirected"] as const),
];

export type CanaryCard = {
  n: number;
  fate: Fate;
  card: { card_number: string; cvv: string; expiry_month: number; expiry_year: number };
};
export const canaryOfCard = ({ n, fate, card }: CanaryCard): Canary => ({
  kind: `card ${n}, ${fate}`,
  secret: canaryOf(card.card_number, card.cvv),
});

export function newCards(count: number): CanaryCard[] {
  const numbers = new Set<string>();
  const codes = newCodes();
  return Array.from({ length: count }, (_, n) => {
    const fate = fates[n % fates.length] as Fate;
    let number: string;
    do number = newNumber(digits[fate]);
    while (numbers.has(number));
    numbers.add(number);
    const cvv = codes[n % codes.length] as string;
    return { n, fate, card: { card_number: number, cvv, expiry_month: 1 + (n % 12), expiry_year: 2031 + (n % 9) } };
  });
}

/** Each code is used once, so that a code that is found identifies its card. */
function newCodes(): string[] {
  const codes = Array.from({ length: 1000 }, (_, n) => pad(n, 3));
  for (let left = codes.length; left > 1; ) {
    const chosen = randomInt(left--);
    [codes[left], codes[chosen]] = [codes[chosen] as string, codes[left] as string];
  }
  return codes;
}

const newNumber = (seventhAndEighth: string): string => {
  const prefix = `4${pad(randomInt(100_000), 5)}${seventhAndEighth}${pad(randomInt(10_000_000), 7)}`;
  return prefix + checkDigit(prefix);
};
const pad = (number: number, length: number): string => String(number).padStart(length, "0");

function checkDigit(digitsBefore: string): number {
  const sum = digitsBefore
    .split("")
    .reverse()
    .reduce((total, digit, place) => {
      const value = Number(digit) * (place % 2 === 0 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return (10 - (sum % 10)) % 10;
}
