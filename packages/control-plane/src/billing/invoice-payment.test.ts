import { expect, test } from "vitest";
import { paymentOf } from "./invoice-payment.ts";

const on = (day: number): Date => new Date(Date.UTC(2026, 10, day));
const invoice = (source: number, day: number, receivable_micros: number) => ({
  kind: "invoice" as const,
  source,
  at: on(day),
  receivable_micros,
});
const payment = (day: number, micros: number) => ({
  kind: "payment" as const,
  source: day,
  at: on(day),
  receivable_micros: -micros,
});
const refund = (day: number, micros: number) => ({
  kind: "refund" as const,
  source: day,
  at: on(day),
  receivable_micros: micros,
});
const second = { id: 2, created_at: on(10) };

test.each<[string, Parameters<typeof paymentOf>[0], unknown]>([
  ["nothing was paid", [invoice(2, 10, 12)], { state: "due", micros: 12 }],
  ["a part was paid", [invoice(2, 10, 12), payment(11, 5)], { state: "due", micros: 7 }],
  ["all was paid", [invoice(2, 10, 12), payment(11, 5), payment(13, 7)], { state: "paid", on: on(13) }],
  ["it was paid in advance", [payment(3, 20), invoice(2, 10, 12)], { state: "paid", on: on(10) }],
  ["the older one comes first", [invoice(1, 1, 9), invoice(2, 10, 12), payment(11, 10)], { state: "due", micros: 11 }],
  [
    "a later one does not count",
    [invoice(2, 10, 12), invoice(3, 20, 9), payment(21, 12)],
    { state: "paid", on: on(21) },
  ],
  ["a credit note paid for it", [invoice(1, 1, -12), invoice(2, 10, 12)], { state: "paid", on: on(10) }],
  ["money went back", [invoice(2, 10, 12), payment(11, 12), refund(12, 12)], { state: "due", micros: 12 }],
  [
    "money went back and came again",
    [invoice(2, 10, 12), payment(11, 12), refund(12, 12), payment(15, 12)],
    { state: "paid", on: on(15) },
  ],
  ["there is nothing to pay", [invoice(2, 10, 0)], undefined],
  ["the books do not have it", [invoice(1, 1, 9)], undefined],
])("%s", (_name, ledger, expected) => {
  expect(paymentOf(ledger, second)).toEqual(expected);
});
