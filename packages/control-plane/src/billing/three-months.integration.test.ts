/**
 * Three months of two accounts through the API: databases are created, resized, suspended, resumed and deleted across
 * changes of prices and of a tax, with a credit, in two places. The expected invoices were calculated by hand.
 */
import type { Invoice, InvoiceItem } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { INSTANCES } from "#testing/active-database.ts";
import { endMonth } from "#testing/invoiced.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";
import { verifyLedger } from "./ledger.ts";
import { germany, prices, quebec } from "./testing/three-months.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;
type Database = { url: string };
type Page<T> = { data: T[] };

const INVOICES = "/v4/account/invoices";
const MINUTE_MS = 60_000;

async function setUp(world: World) {
  await world.operator.post("/admin/plans", planOf("fx-small", 10_240));
  await world.operator.post("/admin/plans", planOf("fx-large", 40_960));
  for (const [plan, { from, next }] of Object.entries(prices))
    await world.operator.post(`/admin/plans/${plan}/prices`, { ...next, from });
  const taxes = [
    { country: "DE", name: "VAT", percent: "19" },
    { country: "DE", name: "VAT", percent: "20", from: "2027-03-01T00:00:00" },
    { country: "CA", name: "GST", percent: "5" },
    { country: "CA", state: "QC", name: "QST", percent: "9.975" },
  ];
  for (const tax of taxes) expect(await world.operator.post("/admin/taxes", tax)).toMatchObject({ status: 200 });

  const [german, quebecer] = [await world.customer(), await world.customer()];
  await german.put("/v4/account", { country: "DE", city: "Kiel", zip: "24103" });
  await quebecer.put("/v4/account", { country: "CA", state: "QC", city: "Gaspé", zip: "G4X 1A1" });
  const credit = { summary: "Welcome", credit: "30", monthly_cap: "20" };
  await world.operator.post(`/admin/accounts/${german.accountId}/credits`, credit);
  for (let hosts = 0; hosts < 3; hosts++) await world.host();
  return { german, quebecer };
}

const planOf = (id: keyof typeof prices, disk_mb: number) => ({
  id,
  label: id,
  class: "standard",
  memory_mb: 2048,
  disk_mb,
  vcpus: 1,
  price: prices[id].first,
});

/** Sets the clock to a time in 2027, with hosts last seen just then. */
async function at(world: World, time: string): Promise<void> {
  world.time.now = new Date(`2027-${time}Z`);
  await sql`select ensure_event_partitions(${world.time.now}, 8)`.execute(world.db);
  await world.db.updateTable("host_leases").set({ seen_at: world.time.now }).execute();
}

/** Requested ten minutes before it is settled: the price changes when it is settled. */
async function change(
  world: World,
  time: string,
  request: () => Promise<{ status: number }>,
  done = true,
): Promise<void> {
  await at(world, time);
  const settled = world.time.now;
  world.time.now = new Date(settled.getTime() - 10 * MINUTE_MS);
  expect(await request()).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  world.time.now = settled;
  await world.activities.endChange(id, { done });
}

async function threeMonths(world: World) {
  world.time.now = new Date("2026-12-31T12:00:00Z");
  const { german, quebecer } = await setUp(world);
  const make = async (time: string, who: Customer, label: string, type: string, nodes = 1): Promise<Database> => {
    await at(world, time);
    const { body } = await who.create({ label, type, cluster_size: nodes });
    const { id } = await world.lastOperation();
    await world.activities.setDesiredNodes(id);
    await world.activities.endChange(id, { done: true });
    return { url: `${INSTANCES}/${body.id}` };
  };
  const endOf = async (month: string, time: string): Promise<void> => {
    await at(world, time);
    await endMonth(world, month, [german.accountId, quebecer.accountId]);
  };

  const cache = await make("01-01T00:00:00", quebecer, "cache", "fx-small");
  const shop = await make("01-05T10:20:00", german, "shop", "fx-small");
  const orders = await make("01-10T00:00:00", quebecer, "orders", "fx-large");
  await change(world, "01-15T08:30:00", () => german.put(shop.url, { type: "fx-large" }));
  await at(world, "01-20T09:00:00");
  await german.create({ label: "never", type: "fx-small" });
  const message = { code: "test.no_room", text: "No room." };
  await world.activities.endChange((await world.lastOperation()).id, { done: false, message });
  const stats = await make("01-31T23:59:30", german, "stats", "fx-small", 3);
  await endOf("2027-01-01", "02-01T00:15:00");

  await change(world, "02-03T00:00:00", () => quebecer.put(cache.url, { type: "fx-large" }));
  await change(world, "02-05T06:00:00", () => quebecer.post(`${orders.url}/suspend`));
  const brief = await make("02-11T14:05:00", german, "brief", "fx-small");
  await at(world, "02-11T14:50:00");
  await german.delete(brief.url);
  await change(world, "02-12T15:10:00", () => quebecer.post(`${orders.url}/resume`));
  await change(world, "02-12T15:45:00", () => quebecer.post(`${orders.url}/suspend`));
  // Given up, so that it kept running.
  await change(world, "02-20T10:00:00", () => german.post(`${shop.url}/suspend`), false);
  await endOf("2027-02-01", "03-01T00:15:00");

  await at(world, "03-03T11:00:00");
  await german.delete(stats.url);
  await change(world, "03-10T12:40:00", () => german.post(`${shop.url}/suspend`));
  await change(world, "03-20T09:00:00", () => german.post(`${shop.url}/resume`));
  await at(world, "03-31T23:00:01");
  await quebecer.delete(cache.url);
  await endOf("2027-03-01", "04-01T00:15:00");
  return { german, quebecer };
}

/** As the tenant sees them. */
async function invoicesOf(tenant: Customer) {
  const { data } = (await tenant.get<Page<Invoice>>(INVOICES)).body;
  return Promise.all(
    data.map(async ({ id, subtotal, tax, tax_summary, total }) => ({
      lines: (await tenant.get<Page<InvoiceItem>>(`${INVOICES}/${id}/items`)).body.data,
      subtotal,
      tax,
      tax_summary,
      total,
    })),
  );
}

const withRegion = (months: typeof germany) =>
  months.map(({ month: _month, lines, ...sums }) => ({
    ...sums,
    lines: lines.map((line) => ({ ...line, region: line.type === "hourly" ? REGION : null })),
  }));

test("every line of three months matches the price table to the cent; rating again gives the same", async () => {
  await using world = await newWorld();
  const { german, quebecer } = await threeMonths(world);

  expect(await invoicesOf(german)).toEqual(withRegion(germany));
  expect(await invoicesOf(quebecer)).toEqual(withRegion(quebec));
  expect(await verifyLedger(world.db)).toEqual({ rows: 6, faults: [] });
  const owed = [germany, quebec].map((months) => Math.round(months.reduce((sum, { total }) => sum + total * 100, 0)));
  const balances = await Promise.all(
    [german, quebecer].map((tenant) => tenant.get<{ balance: number }>("/v4/account")),
  );
  expect(balances.map(({ body }) => Math.round(body.balance * 100))).toEqual(owed);

  // Later changes of a price, a tax and the account's address have no effect.
  await world.operator.post("/admin/plans/fx-small/prices", { hourly: "1", monthly: "100" });
  await world.operator.post("/admin/taxes", { country: "DE", name: "VAT", percent: "25" });
  await german.put("/v4/account", { country: "CA", state: "QC", zip: "G4X 1A1" });
  for (const tenant of [german, quebecer])
    for (const { id } of (await tenant.get<Page<Invoice>>(INVOICES)).body.data)
      expect((await world.operator.get(`/admin/invoices/${id}/rerate`)).body).toMatchObject({ differences: [] });
});
