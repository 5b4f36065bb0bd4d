import { randomBytes } from "node:crypto";
import { CLUSTER_PLAN } from "../../packages/control-plane/src/testing/active-database.ts";
import { REGION, type Reply, type World } from "../../packages/control-plane/src/testing/world.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;

/** A bound on a value in a request: the last values inside of it, and the first ones outside. */
export type Limit = {
  field: string;
  send: (who: Customer, value: never) => Promise<Reply>;
  inside: readonly unknown[];
  outside: readonly unknown[];
};

const label = (length: number): string => randomBytes(512).toString("hex").slice(0, length);
const letters = (length: number): string => "x".repeat(length);
/** The part before the @ has at most 64 characters, and so has each label of the domain. */
const addressOf = (length: number): string => `${letters(60)}@${letters(length - 60 - "@.example".length)}.example`;

const database =
  (field: string, beside: object = {}) =>
  (who: Customer, value: never) =>
    who.create({ ...beside, [field]: value });
const account =
  (field: string, beside: object = {}) =>
  (who: Customer, value: never) =>
    who.put("/v4/account", { ...beside, [field]: value });
const app = (who: Customer, value: never) =>
  who.post("/v4/account/oauth-clients", { label: value, redirect_uri: "https://app.test/back" });

const image = (field: string) => (who: Customer, value: never) =>
  who.post<{ image: { id: string } }>("/v4/images/upload", { label: "disk", region: REGION, [field]: value });
const changedImage = (field: string) => async (who: Customer, value: never) => {
  const { id } = (await image("label")(who, "disk" as never)).body.image;
  return who.put(`/v4/images/${id}`, { [field]: value });
};

/** Digits with a brand's prefix and a valid check digit. */
export function cardNumber(length: number, prefix: string): string {
  const digits = prefix.padEnd(length - 1, "0");
  const sum = digits
    .split("")
    .reverse()
    .reduce((total, digit, place) => {
      const doubled = Number(digit) * (place % 2 === 0 ? 2 : 1);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

export const CARD = { card_number: cardNumber(16, "4242"), cvv: "123", expiry_month: 12, expiry_year: 2049 };
export const ZIP = { country: "DE", zip: "20457" };

export const addCard = (who: Pick<Customer, "post">, change: object = {}): Promise<Reply> =>
  who.post("/v4/account/payment-methods", {
    type: "credit_card",
    is_default: false,
    data: { ...CARD, ...change },
  });

const card = (field: string) => async (who: Customer, value: never) => {
  await who.put("/v4/account", ZIP);
  return addCard(who, { [field]: value });
};
const oldCard =
  (field: string, beside: object = {}) =>
  async (who: Customer, value: never) => {
    await who.put("/v4/account", ZIP);
    return who.post("/v4/account/credit-card", { ...CARD, ...beside, [field]: value });
  };

/** By hand from section 8 of the interface; what it leaves open is in docs/where-the-interface-is-silent.md. */
export const limits: Readonly<Record<string, Limit>> = {
  "database label": {
    field: "label",
    send: database("label"),
    inside: [label(3), label(32)],
    outside: ["", label(2), label(33)],
  },
  cluster_size: {
    field: "cluster_size",
    send: database("cluster_size", { type: CLUSTER_PLAN }),
    inside: [1, 3],
    outside: [0, 2, 4, "1"],
  },
  // The interface gives no bound; ours is what hosts can handle.
  allow_list: {
    field: "allow_list",
    send: database("allow_list"),
    inside: [[], sources(10_000)],
    outside: [sources(10_001)],
  },

  // The shortest numbers of 14 digits are Diners Club's. The format allows 24, and no brand has more than 19.
  "card_number, 14 digits": {
    field: "data.card_number",
    send: card("card_number"),
    inside: [cardNumber(14, "3600")],
    outside: [cardNumber(13, "6304"), cardNumber(13, "4000")],
  },
  "card_number, 24 digits": {
    field: "data.card_number",
    send: card("card_number"),
    inside: [cardNumber(19, "6304"), cardNumber(19, "4000")],
    outside: [cardNumber(20, "4000"), cardNumber(24, "4000"), cardNumber(25, "4000")],
  },
  "card_number, what is no number": {
    field: "data.card_number",
    send: card("card_number"),
    inside: [CARD.card_number],
    outside: [
      "4242424242424241",
      "4242 4242 4242 4242",
      "4242-4242-4242-4242",
      Number(CARD.card_number),
      "９".repeat(16),
    ],
  },
  cvv: { field: "data.cvv", send: card("cvv"), inside: ["123"], outside: ["12", "12345", 123, "12a"] },
  "cvv, of four digits": {
    field: "cvv",
    send: oldCard("cvv", { card_number: cardNumber(15, "3782") }),
    inside: ["1234"],
    outside: ["12", "12345"],
  },
  expiry_month: {
    field: "data.expiry_month",
    send: card("expiry_month"),
    inside: [1, 12],
    outside: [0, 13, 1.5, "1"],
  },
  expiry_year: {
    field: "data.expiry_year",
    send: card("expiry_year"),
    inside: [2049],
    outside: [49, 999, 10_000, "2049"],
  },
  "card_number, by the older operation": {
    field: "card_number",
    send: oldCard("card_number"),
    inside: [cardNumber(14, "3600"), cardNumber(19, "6304")],
    outside: [cardNumber(13, "6304"), cardNumber(24, "4000"), cardNumber(25, "4000")],
  },
  "expiry_month, by the older operation": {
    field: "expiry_month",
    send: oldCard("expiry_month"),
    inside: [1, 12],
    outside: [0, 13],
  },
  "expiry_year, by the older operation": {
    field: "expiry_year",
    send: oldCard("expiry_year"),
    inside: [2049],
    outside: [999, 10_000],
  },

  ...Object.fromEntries(
    Object.entries({
      address_1: 64,
      address_2: 64,
      city: 24,
      company: 128,
      first_name: 50,
      last_name: 50,
      phone: 32,
    }).map(([field, most]) => [
      field,
      { field, send: account(field), inside: [letters(most)], outside: [letters(most + 1), 7] },
    ]),
  ),
  state: { field: "state", send: account("state", ZIP), inside: ["", letters(24)], outside: [letters(25)] },
  tax_id: { field: "tax_id", send: account("tax_id"), inside: ["", letters(25)], outside: [letters(26)] },
  email: { field: "email", send: account("email"), inside: [addressOf(128)], outside: [addressOf(129), "", "nobody"] },
  zip: {
    field: "zip",
    send: account("zip", { country: "DE" }),
    inside: ["", "123456789", "AB-123 456 7"],
    outside: ["1234567890", "20457!"],
  },
  "zip of the US": {
    field: "zip",
    send: account("zip", { country: "US", state: "NY" }),
    inside: ["10001", "10001-1234"],
    outside: ["1000", "100011", "10001-123", "ABCDE"],
  },

  "image description": {
    field: "description",
    send: image("description"),
    inside: ["a", letters(65_000), "é\n".repeat(32_500)],
    outside: ["", letters(65_001), 7, null],
  },
  "image description, of one that is there": {
    field: "description",
    send: changedImage("description"),
    // Nothing, and what an SDK sends for it.
    inside: ["a", letters(65_000), null, ""],
    outside: [letters(65_001), 7],
  },
  "image label": {
    field: "label",
    send: image("label"),
    inside: ["a", label(50)],
    outside: ["", label(51), "a\u0007", 7],
  },
  "image label, of one that is there": {
    field: "label",
    send: changedImage("label"),
    inside: ["a", label(50)],
    outside: ["", label(51), null],
  },

  "OAuth label": { field: "label", send: app, inside: ["a", label(512)], outside: ["", label(513)] },
};

function sources(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
}
