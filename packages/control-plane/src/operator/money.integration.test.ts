import { expect, test } from "vitest";
import { endMonth, used } from "#testing/invoiced.ts";
import { newWorld, PLAN, type World } from "#testing/world.ts";

const plan = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };
const TYPE = "/v4/databases/types/m1-large";
const PRICES = "/admin/plans/m1-large/prices";
const FREE = { suspended_hourly: "0.00", suspended_monthly: "0.00" };

async function priced() {
  const world = await newWorld();
  world.time.now = new Date("2027-01-05T10:20:00Z");
  await world.operator.post("/admin/plans", { ...plan, price: { hourly: "0.09", monthly: "60" } });
  return world;
}
const shown = async (world: World) =>
  (await world.anonymous.get<{ engines: { mysql: { price: object }[] } }>(TYPE)).body.engines.mysql[0]?.price;

test("a price applies from the next full hour on, and tenants see the current one", async () => {
  await using world = await priced();

  const price = { hourly: "0.1005", monthly: "65", suspended_hourly: "0.02", suspended_monthly: "13" };
  expect(await world.operator.post(PRICES, price)).toMatchObject({
    status: 200,
    body: { from: "2027-01-05T11:00:00", hourly: "0.1005", suspended_monthly: "13.00" },
  });

  world.time.now = new Date("2027-01-05T10:59:59Z");
  expect(await shown(world)).toEqual({ hourly: 0.09, monthly: 60 });
  world.time.now = new Date("2027-01-05T11:00:00Z");
  expect(await shown(world)).toEqual({ hourly: 0.1005, monthly: 65 });
  expect((await world.anonymous.get("/v4/compute/types/m1-large")).body).toMatchObject({ price: { hourly: 0.1005 } });
  expect((await world.operator.get(PRICES)).body).toEqual({
    data: [
      { from: "2000-01-01T00:00:00", hourly: "0.09", monthly: "60.00", ...FREE },
      {
        from: "2027-01-05T11:00:00",
        hourly: "0.1005",
        monthly: "65.00",
        suspended_hourly: "0.02",
        suspended_monthly: "13.00",
      },
    ],
  });
});

test("a plan that is saved again keeps its price, or changes it from the next full hour", async () => {
  await using world = await priced();

  await world.operator.post("/admin/plans", { ...plan, label: "Larger" });
  await world.operator.post("/admin/plans", { ...plan, price: { hourly: "0.090", monthly: "60.00" } });
  expect((await world.operator.get<{ data: object[] }>(PRICES)).body.data).toHaveLength(1);
  await world.operator.post("/admin/plans", { ...plan, price: { hourly: "0.1", monthly: "60" } });
  await world.operator.post("/admin/plans", { ...plan, price: { hourly: "0.1", monthly: "60" } });

  expect((await world.operator.get(PRICES)).body).toMatchObject({
    data: [{ hourly: "0.09" }, { from: "2027-01-05T11:00:00", hourly: "0.10" }],
  });
  expect(await shown(world)).toEqual({ hourly: 0.09, monthly: 60 });
});

test.each([
  ["in the past", { from: "2027-01-05T10:00:00" }, "from", "2027-01-05T11:00:00"],
  ["within an hour", { from: "2027-01-05T11:30:00" }, "from", "a full hour"],
  ["free by mistake", { monthly: "0" }, "monthly", "at least the hourly price"],
  [
    "free by mistake when suspended",
    { suspended_hourly: "0.01" },
    "suspended_monthly",
    "price of a suspended database",
  ],
])("a price that is %s is refused", async (_what, change, field, reason) => {
  await using world = await priced();

  const reply = await world.operator.post(PRICES, { hourly: "0.1", monthly: "65", ...change });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field, reason: expect.stringContaining(reason) }] } });
});

test("tax rates follow one another, never begin in the past, and can end", async () => {
  await using world = await priced();
  const vat = { country: "de", name: "VAT" };
  const set = (change: object) => world.operator.post("/admin/taxes", { ...vat, ...change });

  expect(await set({ percent: "19" })).toMatchObject({ status: 200, body: { country: "DE", percent: "19" } });
  await set({ percent: "21", from: "2027-03-01T00:00:00" });
  await set({ percent: "20.5", from: "2027-02-01T00:00:00" });
  const rates = async () =>
    (await world.operator.get<{ data: Record<string, unknown>[] }>("/admin/taxes")).body.data.map(
      ({ percent, from, until }) => [percent, from, until],
    );
  expect(await rates()).toEqual([
    ["19", "2027-01-05T10:20:00", "2027-02-01T00:00:00"],
    ["20.5", "2027-02-01T00:00:00", "2027-03-01T00:00:00"],
    ["21", "2027-03-01T00:00:00", null],
  ]);
  expect(await set({ percent: "7", from: "2027-01-05T10:19:59" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "from" }] },
  });
  expect(await set({ percent: "119" })).toMatchObject({ status: 400, body: { errors: [{ field: "percent" }] } });

  await world.operator.post("/admin/taxes/end", { ...vat, at: "2027-02-10T00:00:00" });
  expect(await rates()).toEqual([
    ["19", "2027-01-05T10:20:00", "2027-02-01T00:00:00"],
    ["20.5", "2027-02-01T00:00:00", "2027-02-10T00:00:00"],
  ]);
  world.time.now = new Date("2027-02-11T00:00:00Z");
  expect(await world.operator.post("/admin/taxes/end", vat)).toMatchObject({
    status: 404,
    body: { errors: [{ reason: expect.stringContaining("moorage admin tax list") }] },
  });
});

test("a credit is granted once, however often the command is repeated, and shows what is left", async () => {
  await using world = await priced();
  await world.operator.post(`/admin/plans/${PLAN}/prices`, { hourly: "0.5", monthly: "300" });
  const { accountId } = await world.customer();
  const path = `/admin/accounts/${accountId}/credits`;
  const grant = (change: object = {}) =>
    world.operator.post(path, { summary: "Welcome", credit: "100", monthly_cap: "12.5", ...change });

  expect(await grant()).toMatchObject({ status: 200, body: { credit: "100.00", remaining: "100.00", expires: null } });
  await grant();
  expect(await grant({ credit: "200" })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("under another --summary") }] },
  });
  expect(await grant({ summary: "Other", credit: "0.00" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "credit" }] },
  });
  await used(world, accountId, { from: "2027-01-06T00:00:00Z" });
  world.time.now = new Date("2027-02-01T00:15:00Z");
  await endMonth(world, "2027-01-01", [accountId]);

  expect((await world.operator.get(path)).body).toMatchObject({
    data: [{ summary: "Welcome", remaining: "87.50", monthly_cap: "12.50" }],
  });
});
