import type { Invoice } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { endMonth, setPrice, used } from "#testing/invoiced.ts";
import { newWorld, type World } from "#testing/world.ts";
import { estimate, viewCredits } from "./estimate.ts";
import { closeBilling } from "./invoice-accounts.ts";
import { balanceOf, postPayment, postRefund, verifyLedger } from "./ledger.ts";
import { texts } from "./texts.ts";

async function owingWorld() {
  const world = await newWorld();
  world.time.now = new Date("2026-11-01T00:15:00Z");
  await setPrice(world, { hourly: 30_000, monthly: 15_000_000 });
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-10-01T00:00:00Z" });
  await endMonth(world, "2026-10-01", [alice.accountId]);
  return { world, alice, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const post = ({ db, time }: World, kind: typeof postPayment, accountId: number, source: number, amountMicros: number) =>
  db.transaction().execute((tx) => kind(tx, { accountId, source, amountMicros, at: time.now }));

const notices = async ({ db }: World): Promise<string[]> =>
  (await db.selectFrom("notifications").select("message").execute()).map(({ message }) => message);

test("a payment lowers the balance once per source; a refund raises it; the notification follows", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  const { accountId } = alice;
  expect(await notices(world)).toEqual([expect.stringContaining("$15.00")]);

  expect(await post(world, postPayment, accountId, 7, 10_000_000)).toBe(true);
  expect(await post(world, postPayment, accountId, 7, 10_000_000)).toBe(false);
  expect(await balanceOf(world.db, accountId)).toBe(5_000_000);
  expect(await notices(world)).toEqual([expect.stringContaining("$5.00")]);
  await post(world, postPayment, accountId, 8, 5_000_000);
  expect(await notices(world)).toEqual([]);
  await post(world, postRefund, accountId, 7, 10_000_000);

  expect(await balanceOf(world.db, accountId)).toBe(10_000_000);
  expect(await notices(world)).toEqual([expect.stringContaining("$10.00")]);
});

test("every kind of difference between the ledger and its sources is found", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  const harm = async (statement: string) => {
    await sql.raw("alter table ledger disable trigger user").execute(world.db);
    return world.db
      .transaction()
      .execute(async (tx) => {
        await sql.raw(statement).execute(tx);
        const { faults } = await verifyLedger(tx);
        throw Object.assign(new Error("undone"), { faults });
      })
      .catch((error: { faults: { account: number; fault: string }[] }) => error.faults.map(({ fault }) => fault));
  };
  const row = `(account_id, at, kind, source, receivable_micros, cash_micros) values (${alice.accountId}, now(), `;

  expect((await verifyLedger(world.db)).faults).toEqual([]);
  expect(await harm("delete from ledger")).toEqual([expect.stringMatching(/^invoice \d+ and the ledger differ$/)]);
  expect(await harm("update ledger set revenue_micros = revenue_micros - 1, tax_micros = tax_micros + 1")).toEqual([
    expect.stringMatching(/^invoice \d+ and the ledger differ$/),
  ]);
  expect(await harm(`insert into ledger ${row}'payment', 1, -5, 5)`)).toEqual(["payments and the ledger differ"]);
  expect(await harm(`insert into ledger ${row}'refund', 1, 5, -5)`)).toEqual(["refunds and the ledger differ"]);
  expect(await harm(`insert into ledger ${row}'invoice', 1, 5, -5)`)).toEqual(["invoice 1 and the ledger differ"]);
  expect((await verifyLedger(world.db)).faults).toEqual([]);
});

test("each row of the ledger must balance", async () => {
  await using fixture = await owingWorld();
  const { db } = fixture.world;
  const row = { account_id: fixture.alice.accountId, at: new Date(), kind: "payment" as const, source: 1 };

  await expect(
    db
      .insertInto("ledger")
      .values({ ...row, receivable_micros: -5, cash_micros: 4 })
      .execute(),
  ).rejects.toThrow(/check constraint/);
});

test("uninvoiced usage is estimated as it will be invoiced, also in the minutes after a month's end", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  const total = async (at: string) => (await estimate(world.db, alice.accountId, new Date(at))).total_micros;

  expect(await total("2026-11-01T00:00:00Z")).toBe(0);
  expect(await total("2026-11-01T00:00:01Z")).toBe(30_000);
  expect(await total("2026-11-10T00:00:00Z")).toBe(9 * 24 * 30_000);
  expect(await total("2026-12-01T00:05:00Z")).toBe(15_000_000 + 30_000);
  const cutoff = new Date("2026-12-01T00:05:00Z");
  const estimated = await total(cutoff.toISOString());

  await world.db.transaction().execute((tx) => closeBilling(tx, alice.accountId, cutoff, world.time.now));

  expect(await balanceOf(world.db, alice.accountId)).toBe(15_000_000 + estimated);
});

test("active credits show what is left: in total, and in this month", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  const credit = {
    account_id: alice.accountId,
    description: "For new accounts",
    image_url: "",
    service_type: "all",
    credit_micros: 100_000_000,
    monthly_cap_micros: 10_000_000,
  };
  await world.db
    .insertInto("credits")
    .values([
      { ...credit, summary: "Welcome", granted_at: new Date("2026-11-01T00:00:00Z"), expires_at: null },
      {
        ...credit,
        summary: "Over",
        granted_at: new Date("2026-09-01T00:00:00Z"),
        expires_at: new Date("2026-10-30"),
      },
    ])
    .execute();
  const now = new Date("2026-11-05T00:00:00Z");
  const creditsAt = async (at: Date) =>
    viewCredits(world.db, alice.accountId, at, await estimate(world.db, alice.accountId, at));

  // Four days are 2.88.
  expect(await creditsAt(now)).toEqual([
    {
      summary: "Welcome",
      description: "For new accounts",
      service_type: "all",
      image_url: "",
      expire_dt: null,
      credit_monthly_cap: "10.00",
      credit_remaining: "100.00",
      this_month_credit_remaining: "7.12",
    },
  ]);
  world.time.now = new Date("2026-12-01T00:15:00Z");
  await endMonth(world, "2026-11-01", [alice.accountId]);
  expect(await creditsAt(world.time.now)).toMatchObject([
    { credit_remaining: "90.00", this_month_credit_remaining: "9.97" },
  ]);
});

test("a correction is a line of the open month and can be repeated; the final invoice stays unchanged", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  const { data: before } = (await alice.get<{ data: Invoice[] }>("/v4/account/invoices")).body;
  const path = `/admin/invoices/${before[0]?.id}/corrections`;
  const correction = { amount: "-12.50", label: "Outage of 12 October" };

  expect(await world.operator.post(path, correction)).toMatchObject({
    status: 200,
    body: { amount: "-$12.50", month: "2026-11", invoice: before[0]?.id },
  });
  expect((await world.operator.post(path, correction)).status).toBe(200);
  expect(await world.operator.post(path, { ...correction, amount: "-13" })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.adjustmentExists(correction).text }] },
  });
  world.time.now = new Date("2026-12-01T00:15:00Z");
  await endMonth(world, "2026-11-01", [alice.accountId]);

  const { data: after } = (await alice.get<{ data: Invoice[] }>("/v4/account/invoices")).body;
  expect(after).toEqual([before[0], expect.objectContaining({ subtotal: 2.5 })]);
  const items = (await alice.get<{ data: object[] }>(`/v4/account/invoices/${after[1]?.id}/items`)).body.data;
  expect(items).toMatchObject([
    { amount: 15 },
    { type: "misc", label: "Outage of 12 October", amount: -12.5, region: null },
  ]);
});

test.each(["0", "-0.00", "12.505", "-", "1e3", "$5", 12.5])("%j is no valid correction amount", async (amount) => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;

  const reply = await world.operator.post(`/admin/accounts/${alice.accountId}/adjustments`, { amount, label: "x" });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "amount" }] } });
});

test("a closed account cannot be corrected: it gets no more invoices", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  await world.db.updateTable("accounts").set({ closed_at: world.time.now }).execute();

  const reply = await world.operator.post(`/admin/accounts/${alice.accountId}/adjustments`, {
    amount: "5",
    label: "x",
  });

  expect(reply).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.adjustmentAccountClosed(alice).text }] },
  });
});

test("rating a finished month again gives the same result; a manipulated fact is found", async () => {
  await using fixture = await owingWorld();
  const { world, alice } = fixture;
  const [invoice] = (await alice.get<{ data: Invoice[] }>("/v4/account/invoices")).body.data;
  const rerate = async () =>
    (await world.operator.get<{ differences: { what: string }[] }>(`/admin/invoices/${invoice?.id}/rerate`)).body
      .differences;
  await world.operator.post(`/admin/accounts/${alice.accountId}/adjustments`, { amount: "5", label: "later" });
  const since = { valid_from: new Date("2020-01-01T00:00:00Z"), valid_until: null };
  await world.db
    .insertInto("tax_rates")
    .values({ country: "DE", name: "VAT", rate_ppm: 190_000, ...since })
    .execute();
  await world.db.updateTable("accounts").set({ country: "DE" }).execute();

  expect(await rerate()).toEqual([]);

  await sql`alter table usage_facts disable trigger user`.execute(world.db);
  await sql`update usage_facts set at = at + interval '25 days'`.execute(world.db);
  expect((await rerate()).map(({ what }) => what)).toEqual(["subtotal_micros", "total_micros", "line 1"]);
});
