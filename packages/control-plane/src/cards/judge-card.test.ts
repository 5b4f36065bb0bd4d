import { expect, test } from "vitest";
import { invalidReason } from "#platform/errors.ts";
import { judgeAnyCard, judgeCard } from "./add-card.ts";
import { texts } from "./texts.ts";

const now = new Date("2026-11-15T12:00:00Z");
const visa = { card_number: "4242424242424242", cvv: "123", expiry_month: 11, expiry_year: 2026 };
const fieldsOf = (change: object, at = now) => judgeCard({ ...visa, ...change }, at).map(({ field }) => field);

test.each([
  ["Visa", "4242424242424242", "123"],
  ["Visa of 19 digits", "4000000000000000006", "123"],
  ["MasterCard", "5555555555554444", "123"],
  ["American Express", "378282246310005", "1234"],
  ["Diners Club", "30569309025904", "123"],
  ["JCB", "3566002020360505", "123"],
  ["UnionPay", "6200000000000005", "123"],
])("a number of %s is valid", (_brand, card_number, cvv) => {
  expect(fieldsOf({ card_number, cvv })).toEqual([]);
});

test.each([
  ["a wrong check digit", "4242424242424241"],
  ["a wrong check digit of UnionPay", "6200000000000006"],
  ["two digits changed places", "4242424242424224"],
  ["no brand", "9999999999999995"],
  ["a length that its brand does not have", "42424242424242"],
  ["24 digits, of no brand", "424242424242424242424242"],
])("%s is refused by field", (_what, card_number) => {
  expect(fieldsOf({ card_number })).toEqual(["card_number"]);
});

test("the code must have its brand's number of digits", () => {
  expect(fieldsOf({ cvv: "1234" })).toEqual(["cvv"]);
  expect(judgeCard({ ...visa, card_number: "378282246310005" }, now, "data.")).toEqual([
    {
      field: "data.cvv",
      reason: invalidReason("data.cvv", texts.cvvLengthWrong({ digits: 4, brand: "American Express" })),
    },
  ]);
});

test.each([
  ["this month", { expiry_month: 11, expiry_year: 2026 }, []],
  ["last month", { expiry_month: 10, expiry_year: 2026 }, ["expiry_month"]],
  ["a month of last year", { expiry_month: 12, expiry_year: 2025 }, ["expiry_year"]],
  ["a month of next year", { expiry_month: 1, expiry_year: 2027 }, []],
])("a card that is valid until %s", (_when, expiry, faults) => {
  expect(fieldsOf(expiry)).toEqual(faults);
});

test("a card is valid until the last moment of its month", () => {
  expect(fieldsOf({}, new Date("2026-11-30T23:59:59.999Z"))).toEqual([]);
  expect(fieldsOf({}, new Date("2026-12-01T00:00:00Z"))).toEqual(["expiry_month"]);
});

test("every fault is reported, without repeating the value", () => {
  const card = { card_number: "4242424242424241", cvv: "9876", expiry_month: 1, expiry_year: 2020 };
  const faults = judgeCard(card, now);

  expect(faults.map(({ field }) => field)).toEqual(["card_number", "cvv", "expiry_year"]);
  for (const value of [card.card_number, card.cvv]) expect(JSON.stringify(faults)).not.toContain(value);
});

test("a malformed card is left to the schema", () => {
  for (const body of [undefined, null, "4242424242424242", [], { ...visa, cvv: 123 }])
    expect(judgeAnyCard(body, now)).toEqual([]);
});
