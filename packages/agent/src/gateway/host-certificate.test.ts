import { expect, test } from "vitest";
import { isRenewalDue } from "./host-certificate.ts";

const day = 86_400_000;
const certificate = (days: number) => ({ validFromDate: new Date(0), validToDate: new Date(days * day) });

test.each([
  { days: 30, third: (7 / 3) * day, until: 7 * day, why: "the gateway accepts it for a week" },
  { days: 3, third: day, until: 3 * day, why: "it ends before that" },
])("a certificate of $days days is renewed when a third of its time is left: $why", ({ days, third, until }) => {
  expect(isRenewalDue(certificate(days), new Date(until - third - 1))).toBe(false);
  expect(isRenewalDue(certificate(days), new Date(until - third + 1))).toBe(true);
  expect(isRenewalDue(certificate(days), new Date(until + day))).toBe(true);
});
