import type { Invoice, InvoiceItem, Notification } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { endMonth, setPrice, used } from "#testing/invoiced.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";
import { closeBilling } from "./invoice-accounts.ts";
import { verifyLedger } from "./ledger.ts";

type Page<T> = { data: T[]; results: number };
const INVOICES = "/v4/account/invoices";

/** In November 2026, with a price of 0.03 an hour and 15 a month. */
async function billedWorld() {
  const world = await newWorld();
  world.time.now = new Date("2026-11-01T00:15:00Z");
  await setPrice(world, { hourly: 30_000, monthly: 15_000_000 });
  return world;
}

async function inGermany(world: World, accountId: number): Promise<void> {
  await world.db.updateTable("accounts").set({ country: "DE" }).where("id", "=", accountId).execute();
  await world.db
    .insertInto("tax_rates")
    .values({
      country: "DE",
      name: "VAT",
      valid_from: new Date("2020-01-01T00:00:00Z"),
      valid_until: null,
      rate_ppm: 190_000,
    })
    .execute();
}

const invoicesOf = async (tenant: Awaited<ReturnType<World["customer"]>>): Promise<Invoice[]> =>
  (await tenant.get<Page<Invoice>>(INVOICES)).body.data;

test("a month becomes one invoice with its lines, and the account owes it", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await inGermany(world, alice.accountId);
  await used(world, alice.accountId, { from: "2026-10-30T22:10:00Z", to: "2026-10-31T08:30:00Z" });

  await endMonth(world, "2026-10-01", [alice.accountId]);

  const [invoice, ...more] = await invoicesOf(alice);
  expect(more).toEqual([]);
  // 22:00 to 09:00 are 11 hours: 0.33, and 19 % of it are 0.0627.
  expect(invoice).toEqual({
    id: expect.any(Number),
    label: `Invoice #${invoice?.id}`,
    date: "2026-11-01T00:15:00",
    billing_source: "operator",
    subtotal: 0.33,
    tax: 0.06,
    total: 0.39,
    tax_summary: [{ name: "VAT", tax: 0.06 }],
  });
  expect((await alice.get(`${INVOICES}/${invoice?.id}`)).body).toEqual(invoice);
  expect((await alice.get<Page<InvoiceItem>>(`${INVOICES}/${invoice?.id}/items`)).body.data).toEqual([
    {
      label: "Database shop (m1-small)",
      type: "hourly",
      region: REGION,
      quantity: 11,
      unit_price: 0.03,
      from: "2026-10-30T22:00:00",
      to: "2026-10-31T09:00:00",
      amount: 0.33,
      tax: 0.06,
      total: 0.39,
    },
  ]);
  expect(await verifyLedger(world.db)).toEqual({ rows: 1, faults: [] });
  expect((await alice.get<Page<Notification>>("/v4/account/notifications")).body.data).toMatchObject([
    {
      type: "payment_due",
      severity: "major",
      message: expect.stringContaining("$0.39"),
      entity: { type: "account", id: null },
    },
  ]);
});

test("repeated or run concurrently, the month end creates no second invoice", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-10-05T00:00:00Z" });

  await Promise.all(Array.from({ length: 6 }, () => endMonth(world, "2026-10-01", [alice.accountId])));
  await endMonth(world, "2026-10-01", [alice.accountId]);

  expect(await invoicesOf(alice)).toMatchObject([{ subtotal: 15 }]);
  expect(await verifyLedger(world.db)).toEqual({ rows: 1, faults: [] });
});

test("an account without usage gets no invoice, is not processed again, and owes nothing", async () => {
  await using world = await billedWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  await used(world, alice.accountId, { from: "2026-09-01T00:00:00Z", to: "2026-09-01T00:00:00Z" });
  const charged: number[] = [];

  await endMonth(world, "2026-10-01", [alice.accountId, bob.accountId], async (_tx, owed) => {
    charged.push(...owed.map(({ accountId }) => accountId));
  });

  expect(await invoicesOf(alice)).toEqual([]);
  expect(charged).toEqual([]);
  expect((await alice.get<Page<Notification>>("/v4/account/notifications")).body.data).toEqual([]);
  expect((await world.account(bob.accountId)).invoiced_through).toEqual(new Date("2026-11-01T00:00:00Z"));
});

test("missed months are invoiced later, one invoice each, and none before the account existed", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-08-31T22:30:00Z" });

  await endMonth(world, "2026-10-01", [alice.accountId]);

  const months = await world.db.selectFrom("invoices").select("month").orderBy("month").execute();
  expect(months.map(({ month }) => month)).toEqual(["2026-08-01", "2026-09-01", "2026-10-01"]);
  expect(await invoicesOf(alice)).toMatchObject([{ total: 0.06 }, { total: 15 }, { total: 15 }]);
});

test("a credit is used up over months that are invoiced together, up to its amount", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-08-01T00:00:00Z" });
  await world.db
    .insertInto("credits")
    .values({
      account_id: alice.accountId,
      description: "d",
      summary: "Welcome",
      expires_at: null,
      credit_micros: 22_000_000,
      monthly_cap_micros: 10_000_000,
      granted_at: new Date("2026-08-01T00:00:00Z"),
    })
    .execute();

  await endMonth(world, "2026-10-01", [alice.accountId]);

  expect(await invoicesOf(alice)).toMatchObject([{ total: 5 }, { total: 5 }, { total: 13 }]);
});

test("the balance including earlier debt is scheduled for charging; an account in credit is not charged", async () => {
  await using world = await billedWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  for (const { accountId } of [alice, bob]) await used(world, accountId, { from: "2026-09-01T00:00:00Z" });
  const both = [alice.accountId, bob.accountId];
  const charged: object[] = [];
  await endMonth(world, "2026-09-01", both);
  await world.db
    .insertInto("ledger")
    .values({
      account_id: bob.accountId,
      at: world.time.now,
      kind: "payment",
      source: 1,
      receivable_micros: -40_000_000,
      cash_micros: 40_000_000,
    })
    .execute();

  await endMonth(world, "2026-10-01", both, async (_tx, owed) => {
    charged.push(...owed);
  });

  expect(charged).toEqual([{ accountId: alice.accountId, amountMicros: 30_000_000 }]);
  const notified = await world.db.selectFrom("notifications").select("account_id").execute();
  expect(notified).toEqual([{ account_id: alice.accountId }]);
});

test("the list is oldest first, and can be filtered and ordered by its four fields", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-09-30T22:00:00Z" });
  world.time.now = new Date("2026-10-01T00:15:00Z");
  await endMonth(world, "2026-09-01", [alice.accountId]);
  world.time.now = new Date("2026-11-01T00:15:00Z");
  await endMonth(world, "2026-10-01", [alice.accountId]);
  const totals = async (filter: object) => {
    const reply = await world.send({
      method: "GET",
      url: INVOICES,
      headers: { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify(filter) },
    });
    return reply.json<Page<Invoice>>().data.map(({ total }) => total);
  };

  expect(await totals({})).toEqual([0.06, 15]);
  expect(await totals({ "+order_by": "date", "+order": "desc" })).toEqual([15, 0.06]);
  expect(await totals({ date: { "+gte": "2026-10-15T00:00:00" } })).toEqual([15]);
  expect(await totals({ total: 0.06 })).toEqual([0.06]);
  expect(await totals({ total: { "+gt": 0.06 } })).toEqual([15]);
  expect(await totals({ billing_source: "partner" })).toEqual([]);
  expect(await totals({ label: { "+contains": "invoice #" } })).toEqual([0.06, 15]);
});

test("another account's invoice is not found, in any format", async () => {
  await using world = await billedWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  await used(world, alice.accountId, { from: "2026-10-01T00:00:00Z" });
  await endMonth(world, "2026-10-01", [alice.accountId]);
  const [invoice] = await invoicesOf(alice);

  for (const form of ["", "/items", "/pdf", "/csv"])
    expect([form, (await bob.get(`${INVOICES}/${invoice?.id}${form}`)).status]).toEqual([form, 404]);
});

test("a final invoice, its lines and the ledger cannot be changed by any statement", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-10-01T00:00:00Z" });
  await endMonth(world, "2026-10-01", [alice.accountId]);

  for (const table of ["invoices", "invoice_items", "ledger", "usage_facts"])
    for (const statement of [`update ${table} set account_id = account_id`, `delete from ${table}`])
      await expect(sql.raw(statement).execute(world.db)).rejects.toThrow("written once");
});

test("a closed account's last invoice includes the hour that had started; later usage is never invoiced", async () => {
  await using world = await billedWorld();
  const alice = await world.customer();
  await used(world, alice.accountId, { from: "2026-09-15T00:00:00Z" });
  const cutoff = new Date("2026-11-01T05:20:00Z");

  const last = await world.db.transaction().execute(async (tx) => {
    const id = await closeBilling(tx, alice.accountId, cutoff, world.time.now);
    await tx.updateTable("accounts").set({ closed_at: cutoff }).where("id", "=", alice.accountId).execute();
    return id;
  });
  await endMonth(world, "2026-11-01", [alice.accountId]);

  const invoices = await world.db.selectFrom("invoices").selectAll().orderBy("month").execute();
  // 384 hours of September, a whole October, six hours.
  expect(invoices.map(({ total_micros }) => total_micros)).toEqual([11_520_000, 15_000_000, 180_000]);
  expect(invoices.at(-1)).toMatchObject({ id: last, month: "2026-11-01", until: cutoff });
});
