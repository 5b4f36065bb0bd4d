import fc from "fast-check";
import type { PriceVersion, UsageFactRow } from "#metering/index.ts";
import type { Adjustment, Credit, RatingInput, TaxRate } from "../rating.ts";

const HOUR = 3_600_000;
const EVER = new Date("2000-01-01T00:00:00Z");
const PLANS = ["p1", "p2", "p3"];

/** Full hours, a moment beside them, and anything else: errors are most likely at the edges. */
const momentOf = (from: number, hours: number): fc.Arbitrary<Date> =>
  fc
    .tuple(
      fc.integer({ min: -48, max: hours + 24 }),
      fc.constantFrom(0, 0, 1, -1, 1000, -1000, 60_000, HOUR / 2, HOUR - 1),
    )
    .map(([hour, beside]) => new Date(from + hour * HOUR + beside));

/** Prices whose sums contain exact half cents, and caps that a month may or may not reach. */
const priceOf = fc.record({
  hourly: fc.constantFrom(0, 500, 2500, 22_500, 45_001, 67_500, 90_000, 333_333),
  hours: fc.constantFrom(1, 90, 400, 650, 672, 1000),
  share: fc.constantFrom(0, 2, 5),
});
const versionOf = (plan: string, valid_from: Date, price: { hourly: number; hours: number; share: number }) => ({
  plan,
  valid_from,
  hourly_micros: price.hourly,
  monthly_micros: price.hourly * price.hours,
  suspended_hourly_micros: price.share === 0 ? 0 : Math.floor(price.hourly / price.share),
  suspended_monthly_micros: price.share === 0 ? 0 : Math.floor((price.hourly * price.hours) / price.share),
});
const versionsOf = (plan: string, from: number, hours: number): fc.Arbitrary<PriceVersion[]> =>
  fc
    .tuple(priceOf, fc.array(fc.tuple(fc.integer({ min: -30, max: hours }), priceOf), { maxLength: 3 }))
    .map(([first, later]) => {
      const byHour = new Map(later.map(([hour, price]) => [from + hour * HOUR, price]));
      return [
        versionOf(plan, EVER, first),
        ...[...byHour].sort(([a], [b]) => a - b).map(([at, price]) => versionOf(plan, new Date(at), price)),
      ];
    });

const factsOf = (id: number, from: number, hours: number): fc.Arbitrary<UsageFactRow[]> =>
  fc
    .array(
      fc.record({
        at: momentOf(from, hours),
        state: fc.constantFrom("running", "running", "suspended", "ended"),
        plan: fc.constantFrom(...PLANS),
        nodes: fc.constantFrom(1, 3),
        region: fc.constantFrom("eu", "us"),
      }),
      { maxLength: 8 },
    )
    .map((facts) =>
      facts
        .sort((a, b) => a.at.getTime() - b.at.getTime())
        .map((fact, index) => ({
          account_id: 1,
          resource_type: "database",
          resource_id: id,
          sequence: index + 1,
          label: `db-${id}`,
          ...(fact as Pick<UsageFactRow, "at" | "state" | "plan" | "nodes" | "region">),
        })),
    );

const taxRates = (from: number, hours: number): fc.Arbitrary<TaxRate[]> =>
  fc.array(
    fc.record({
      country: fc.constantFrom("CA", "CA", "DE"),
      state: fc.constantFrom("", "QC", "ON"),
      name: fc.stringMatching(/^[a-z]{8}$/),
      valid_from: fc.oneof(fc.constant(EVER), momentOf(from, hours)),
      valid_until: fc.option(momentOf(from, hours)),
      rate_ppm: fc.constantFrom(0, 50_000, 99_750, 190_000, 250_000),
      waived_by_tax_id: fc.boolean(),
    }),
    { maxLength: 3 },
  );

const credits = (from: number, hours: number): fc.Arbitrary<Credit[]> =>
  fc
    .array(
      fc.record({
        credit: fc.integer({ min: 1, max: 10_000 }),
        cap: fc.integer({ min: 1, max: 5000 }),
        used: fc.integer({ min: 0, max: 100 }),
        granted_at: momentOf(from, hours),
        expires_at: fc.option(momentOf(from, hours)),
      }),
      { maxLength: 3 },
    )
    .map((all) =>
      all.map(({ credit, cap, used, granted_at, expires_at }, index) => ({
        account_id: 1,
        id: index + 1,
        summary: `p${index}`,
        description: "",
        service_type: "all",
        image_url: "",
        // With distinct ages, because the older of two is used first.
        granted_at: new Date(granted_at.getTime() + index),
        expires_at,
        credit_micros: credit * 10_000,
        monthly_cap_micros: cap * 10_000,
        used_micros: Math.floor((credit * used) / 100) * 10_000,
      })),
    );

const adjustments = (from: number, hours: number): fc.Arbitrary<Adjustment[]> =>
  fc
    .array(fc.record({ at: momentOf(from, hours), cents: fc.integer({ min: -3000, max: 3000 }) }), { maxLength: 2 })
    .map((all) =>
      all.map(({ at, cents }, index) => ({
        account_id: 1,
        id: index + 1,
        label: "goodwill",
        invoice_id: null,
        at: new Date(at.getTime() + index),
        amount_micros: (cents === 0 ? 1 : cents) * 10_000,
      })),
    );

/** An account in a month: complete, or up to a moment within it. */
export const history: fc.Arbitrary<RatingInput> = fc
  .record({ month: fc.integer({ min: 0, max: 23 }), isOpen: fc.boolean() })
  .chain(({ month, isOpen }) => {
    const from = Date.UTC(2027, month);
    const hours = (Date.UTC(2027, month + 1) - from) / HOUR;
    const whole = fc.constant(new Date(from + hours * HOUR));
    const until = isOpen
      ? momentOf(from, hours).filter((at) => at.getTime() >= from && at <= new Date(from + hours * HOUR))
      : whole;
    const resources = fc
      .integer({ min: 0, max: 4 })
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => factsOf(index + 1, from, hours))));
    return fc
      .record({
        until,
        facts: resources,
        prices: fc.tuple(...PLANS.map((plan) => versionsOf(plan, from, hours))),
        taxRates: taxRates(from, hours),
        credits: credits(from, hours),
        adjustments: adjustments(from, hours),
        state: fc.constantFrom("QC", "ON", ""),
        tax_id: fc.constantFrom("", "123"),
      })
      .map(({ until: end, facts, prices, state, tax_id, ...rest }) => ({
        ...rest,
        period: { from: new Date(from), until: end },
        billTo: { country: "CA", state, tax_id },
        facts: facts.flat(),
        prices: new Map(prices.map((versions, index) => [PLANS[index] as string, versions])),
      }));
  });
