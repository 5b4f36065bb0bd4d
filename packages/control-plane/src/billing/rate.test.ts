import { expect, test } from "vitest";
import type { PriceVersion, UsageFactRow } from "#metering/index.ts";
import { rate } from "./rate.ts";
import type { Adjustment, Credit, RatingInput, TaxRate } from "./rating.ts";

const EVER = new Date("2000-01-01T00:00:00Z");
const at = (time: string): Date => new Date(`2027-${time}Z`);
const dollars = (amount: number): number => Math.round(amount * 1_000_000);

const price = (plan: string, hourly: number, monthly: number, change: Partial<PriceVersion> = {}): PriceVersion => ({
  plan,
  valid_from: EVER,
  hourly_micros: dollars(hourly),
  monthly_micros: dollars(monthly),
  suspended_hourly_micros: 0,
  suspended_monthly_micros: 0,
  ...change,
});
const prices = new Map([
  ["small", [price("small", 0.02, 10)]],
  ["large", [price("large", 0.1, 50)]],
]);

type Usage = [time: string, state: UsageFactRow["state"], plan?: string];
const facts = (...usage: Usage[]): UsageFactRow[] =>
  usage.map(([time, state, plan = "small"], index) => ({
    account_id: 1,
    resource_type: "database",
    resource_id: 7,
    sequence: index + 1,
    at: at(time),
    state,
    plan,
    nodes: 1,
    region: "eu",
    label: "shop",
  }));
const january: RatingInput = {
  period: { from: at("01-01T00:00:00"), until: at("02-01T00:00:00") },
  billTo: { country: "DE", state: "", tax_id: "" },
  facts: [],
  prices,
  taxRates: [],
  credits: [],
  adjustments: [],
};
const hoursOf = (input: Partial<RatingInput>) =>
  rate({ ...january, ...input }).lines.map(({ label, from_at, quantity }) => [
    label.replace("Database shop ", ""),
    from_at.toISOString().slice(5, 13),
    quantity,
  ]);

test.each<[string, Usage[], unknown[]]>([
  [
    "an hour that was begun counts",
    [
      ["01-05T10:59:59.999", "running"],
      ["01-05T11:00:00", "ended"],
    ],
    [["(small)", "01-05T10", 1]],
  ],
  [
    "one that it ended at does not",
    [
      ["01-05T10:00:00", "running"],
      ["01-05T12:00:00", "ended"],
    ],
    [["(small)", "01-05T10", 2]],
  ],
  [
    "nor does what took no time",
    [
      ["01-05T10:10:00", "running"],
      ["01-05T10:10:00", "ended"],
    ],
    [],
  ],
  [
    "an hour is as the dearest that it saw",
    [
      ["01-05T10:10:00", "running"],
      ["01-05T10:20:00", "running", "large"],
      ["01-05T10:30:00", "suspended"],
      ["01-05T10:40:00", "ended"],
    ],
    [["(large)", "01-05T10", 1]],
  ],
  [
    "what is as before is one line",
    [
      ["01-05T10:00:00", "running"],
      ["01-05T11:30:00", "suspended"],
      ["01-05T11:40:00", "running"],
      ["01-05T13:00:00", "ended"],
    ],
    [["(small)", "01-05T10", 3]],
  ],
  [
    "a gap makes two",
    [
      ["01-05T10:00:00", "running"],
      ["01-05T11:00:00", "ended"],
      ["01-05T12:00:00", "running"],
      ["01-05T13:00:00", "ended"],
    ],
    [
      ["(small)", "01-05T10", 1],
      ["(small)", "01-05T12", 1],
    ],
  ],
])("hours: %s", (_rule, usage, lines) => {
  expect(hoursOf({ facts: facts(...usage) })).toEqual(lines);
});

test("an open month is rated up to now, including the current hour", () => {
  const period = { from: january.period.from, until: at("01-05T12:00:01") };

  expect(hoursOf({ period, facts: facts(["01-05T10:30:00", "running"], ["01-09T00:00:00", "ended"]) })).toEqual([
    ["(small)", "01-05T10", 3],
  ]);
});

test("the hours at a new price are separate lines", () => {
  const versions = [price("small", 0.02, 10), price("small", 0.03, 12, { valid_from: at("01-05T12:00:00") })];

  expect(
    hoursOf({
      prices: new Map([["small", versions]]),
      facts: facts(["01-05T10:00:00", "running"], ["01-05T15:00:00", "ended"]),
    }),
  ).toEqual([
    ["(small)", "01-05T10", 2],
    ["(small)", "01-05T12", 3],
  ]);
});

test("a plan without a price stops the invoice: nothing is free by mistake", () => {
  expect(() => rate({ ...january, facts: facts(["01-05T10:00:00", "running", "lost"]) })).toThrow("lost has no price");
});

test("an invoice uses the last label of a resource", () => {
  const [first, second] = facts(["01-05T10:00:00", "running"], ["01-20T10:00:00", "running"]) as [
    UsageFactRow,
    UsageFactRow,
  ];

  const { lines } = rate({ ...january, facts: [first, { ...second, label: "store" }] });

  expect(lines).toMatchObject([{ label: "Database store (small)" }]);
});

const creditOf = (id: number, credit: number, change: Partial<Credit> = {}): Credit => ({
  account_id: 1,
  id,
  summary: `Promotion ${id}`,
  description: "",
  service_type: "all",
  image_url: "",
  credit_micros: dollars(credit),
  monthly_cap_micros: dollars(credit),
  used_micros: 0,
  granted_at: at("01-01T00:00:00"),
  expires_at: null,
  ...change,
});
const aMonth = facts(["01-01T00:00:00", "running"]);
const creditsOf = (input: Partial<RatingInput>) =>
  rate({ ...january, facts: aMonth, ...input })
    .lines.filter(({ credit_id }) => credit_id !== null)
    .map(({ credit_id, amount_micros }) => [credit_id, amount_micros / 1_000_000]);

test("the oldest credit is used first, each on what is left, never more than is owed", () => {
  const credits = [
    creditOf(1, 100, { granted_at: at("01-03T00:00:00") }),
    creditOf(2, 4, { granted_at: at("01-02T00:00:00") }),
    creditOf(3, 100, { granted_at: at("01-04T00:00:00") }),
  ];

  expect(creditsOf({ credits })).toEqual([
    [2, -4],
    [1, -6],
  ]);
});

test.each<[string, Partial<Credit>, number]>([
  ["its monthly cap", { monthly_cap_micros: dollars(3) }, 3],
  ["what is left of it", { used_micros: dollars(98) }, 2],
  ["nothing when it is used up", { used_micros: dollars(100) }, 0],
  ["nothing before it was granted", { granted_at: at("02-01T00:00:00") }, 0],
  ["nothing in the months after it expired", { expires_at: at("01-01T00:00:00") }, 0],
  ["its part in the month in which it expires", { expires_at: at("01-01T00:00:01") }, 10],
])("a credit gives %s", (_what, change, given) => {
  expect(creditsOf({ credits: [creditOf(1, 100, change)] })).toEqual(given === 0 ? [] : [[1, -given]]);
});

test("operator adjustments are lines before credits; a negative one leaves more of the credit", () => {
  const adjustment = (id: number, amount: number, time: string): Adjustment => ({
    account_id: 1,
    id,
    label: "Goodwill",
    invoice_id: null,
    at: at(time),
    amount_micros: dollars(amount),
  });
  const adjustments = [adjustment(1, -4, "01-10T00:00:00"), adjustment(2, 1, "02-01T00:00:00")];

  const { lines, subtotal_micros } = rate({ ...january, facts: aMonth, adjustments, credits: [creditOf(1, 100)] });

  expect(lines.map(({ type, amount_micros }) => [type, amount_micros / 1_000_000])).toEqual([
    ["hourly", 10],
    ["misc", -4],
    ["misc", -6],
  ]);
  expect(subtotal_micros).toBe(0);
});

const vat = (change: Partial<TaxRate> = {}): TaxRate => ({
  country: "DE",
  state: "",
  name: "VAT",
  valid_from: EVER,
  valid_until: null,
  rate_ppm: 190_000,
  waived_by_tax_id: false,
  ...change,
});
const summaryOf = (taxRates: TaxRate[], billTo: Partial<RatingInput["billTo"]> = {}) =>
  rate({ ...january, facts: aMonth, taxRates, billTo: { ...january.billTo, ...billTo } }).tax_summary.map(
    ({ name, tax_micros }) => [name, tax_micros / 1_000_000],
  );

test("taxes are those of the country and the state at the end of the month", () => {
  const rates = [
    vat({ state: "BY", name: "Local", rate_ppm: 10_000 }),
    vat({ valid_until: at("01-31T23:59:59") }),
    vat({ valid_from: at("01-31T23:59:59"), rate_ppm: 200_000 }),
    vat({ valid_from: at("02-01T00:00:00"), rate_ppm: 500_000 }),
    vat({ country: "FR" }),
  ];

  expect(summaryOf(rates)).toEqual([["VAT", 2]]);
  expect(summaryOf(rates, { state: "BY" })).toEqual([
    ["VAT", 2],
    ["Local", 0.1],
  ]);
});

test("a tax that a business accounts for itself is not on its invoice", () => {
  expect(summaryOf([vat({ waived_by_tax_id: true })], { tax_id: "DE123456789" })).toEqual([]);
  expect(summaryOf([vat({ waived_by_tax_id: true })])).toEqual([["VAT", 1.9]]);
  expect(summaryOf([vat()], { tax_id: "DE123456789" })).toEqual([["VAT", 1.9]]);
});
