import { createHash } from "node:crypto";
import { type Form, formsOf } from "./forms.ts";

/** A card as a canary: its number and its code. A code of three digits alone is found everywhere by chance. */
export const canaryOf = (number: string, cvv: string): string => `${number} ${cvv}`;

/** Every form in which a card is searched for. A hash counts: there are few enough numbers to try them all. */
export function cardFormsOf(canary: string): Form[] {
  const [number = "", cvv = ""] = canary.split(" ");
  const groups = number.match(/.{1,4}/g) ?? [];
  return [
    ...named("number", formsOf(number)),
    ...named("number", [plain("in groups", groups.join(" ")), plain("with hyphens", groups.join("-"))]),
    { how: "number, in UTF-16", text: Buffer.from(number, "utf16le").toString("latin1"), encoding: "latin1" },
    ...[`${number}${cvv}`, `${number} ${cvv}`, `${number}:${cvv}`].flatMap((text) =>
      named("number and code", formsOf(text)),
    ),
    ...hashFormsOf("number", number),
    ...hashFormsOf("number and code", `${number}${cvv}`),
    ...[`"cvv":"${cvv}"`, `\\"cvv\\":\\"${cvv}\\"`, `"cvc":"${cvv}"`, `card[cvc]=${cvv}`].map((text) =>
      plain("code", text),
    ),
  ];
}

function hashFormsOf(of: string, text: string): Form[] {
  const hash = createHash("sha256").update(text).digest();
  return [
    ...named(`SHA-256 of ${of}`, formsOf(hash.toString("hex"))),
    { how: `SHA-256 of ${of}, raw`, text: hash.toString("latin1"), encoding: "latin1" },
  ];
}

const plain = (how: string, text: string): Form => ({ how, text });
const named = (what: string, forms: readonly Form[]): Form[] =>
  forms.map((form) => ({ ...form, how: `${what}, ${form.how}` }));
