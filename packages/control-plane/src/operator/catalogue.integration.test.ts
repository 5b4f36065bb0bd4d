import { expect, test } from "vitest";
import { newWorld, PLAN, REGION } from "#testing/world.ts";

const plan = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };

test("a plan's price is stored to the micro-dollar, and tenants see it", async () => {
  await using world = await newWorld();
  const price = { hourly: "0.045001", monthly: "30.10" };

  expect(await world.operator.post("/admin/plans", { ...plan, price })).toMatchObject({ status: 200, body: { price } });

  const row = await world.db.selectFrom("plans").selectAll().where("id", "=", plan.id).executeTakeFirstOrThrow();
  expect(row).toMatchObject({ hourly_micros: 45_001, monthly_micros: 30_100_000, deprecated: false });
  expect(await world.anonymous.get(`/v4/compute/types/${plan.id}`)).toMatchObject({
    body: { price: { hourly: 0.045001, monthly: 30.1 } },
  });
});

test.each([
  [{ hourly: 0.045, monthly: "30" }, "price.hourly"],
  [{ hourly: "0.0000001", monthly: "30" }, "price.hourly"],
  [{ hourly: "0", monthly: "-1" }, "price.monthly"],
  [{ hourly: "0" }, "price.monthly"],
])("the price %j is refused at %s", async (price, field) => {
  await using world = await newWorld();

  const reply = await world.operator.post("/admin/plans", { ...plan, price });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field }] } });
});

test("a plan keeps its size, can be deprecated, and the operator still sees it", async () => {
  await using world = await newWorld();
  await world.operator.post("/admin/plans", plan);

  expect(await world.operator.post("/admin/plans", { ...plan, memory_mb: 8192 })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("Create a new plan") }] },
  });
  expect(await world.operator.post("/admin/plans", { ...plan, deprecated: true })).toMatchObject({ status: 200 });
  expect(await world.operator.get("/admin/plans")).toMatchObject({
    body: {
      data: [
        { id: PLAN, price: { hourly: "0.00" } },
        { id: plan.id, memory_mb: 4096, deprecated: true },
      ],
    },
  });
});

test("regions and engine versions are listed, and saving them is repeatable", async () => {
  await using world = await newWorld();
  const again = { id: REGION, label: "Frankfurt am Main", country: "de" };

  await world.operator.post("/admin/regions", again);

  expect((await world.operator.get("/admin/regions")).body).toEqual({
    data: [{ ...again, outage: null, outage_since: null, has_host: false }],
  });
  expect((await world.operator.get("/admin/engines")).body).toEqual({
    data: [{ id: "mysql/9.7.4", engine: "mysql", version: "9.7.4", image: "a".repeat(64), prepared: "b".repeat(64) }],
  });
});

test("a host in an unknown region, or at another host's address, is refused with a remedy", async () => {
  await using world = await newWorld();
  const addresses = { address6: "fd00::1", private_address: "10.126.0.1" };
  const first = await world.hostRow((await world.registerHost(addresses)).id);
  const host = {
    name: "late",
    region: REGION,
    failure_domain: "r",
    address: "10.127.9.9",
    node_network: "10.200.0.0/20",
    memory_mb: 1024,
    disk_mb: 1024,
    vcpus: 1,
  };
  const add = (change: object) => world.operator.post("/admin/hosts", { ...host, ...change });

  expect(await add({ region: "moon" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "region", reason: expect.stringContaining(REGION) }] },
  });
  for (const field of ["address", "address6", "private_address", "node_network"] as const)
    expect(await add({ [field]: first[field] })).toMatchObject({
      status: 400,
      body: { errors: [{ field, reason: expect.stringContaining(first.name) }] },
    });
  expect(await add({})).toMatchObject({ status: 200 });
});

test("registering a host again adds missing addresses, and keeps those that are set", async () => {
  await using world = await newWorld();
  const { name, id } = await world.host();
  const { address, node_network } = await world.hostRow(id);
  const again = (change: object) =>
    world.operator.post("/admin/hosts", {
      name,
      region: REGION,
      failure_domain: "r",
      address,
      node_network,
      memory_mb: 1024,
      disk_mb: 1024,
      vcpus: 1,
      ...change,
    });

  expect(await again({ address6: "fd00::1", private_address: "10.126.0.1" })).toMatchObject({
    status: 200,
    body: { id, state: "active" },
  });
  expect(await again({ address6: "fd00::2" })).toMatchObject({ status: 200 });

  const listed = await world.operator.get<{ data: object[] }>("/admin/hosts");
  expect(listed.body.data).toMatchObject([{ id, address, address6: "fd00::1", private_address: "10.126.0.1" }]);
});
