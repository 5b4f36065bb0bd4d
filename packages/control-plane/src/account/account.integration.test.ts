import type { Account, Event } from "@moorage/contract";
import { expect, test } from "vitest";
import { activeDatabase } from "#testing/active-database.ts";
import { ENGINE, newWorld, PLAN, REGION, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const ACCOUNT = "/v4/account";
type Page<Item> = { data: Item[]; results: number };
type Refusal = { errors: { field?: string; reason: string }[] };

const eventsOf = async (reader: { get: World["anonymous"]["get"] }) =>
  (await reader.get<Page<Event>>("/v4/account/events")).body.data;

test("a new account owes nothing, has no card, and has the operator's settings", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const row = await world.account(alice.accountId);

  expect(await alice.get(ACCOUNT)).toMatchObject({
    status: 200,
    body: {
      active_promotions: [],
      active_since: row.created_at.toISOString().slice(0, 19),
      address_1: "",
      balance: 0,
      balance_uninvoiced: 0,
      billing_source: "operator",
      capabilities: ["Managed Databases", "Machine Images"],
      company: row.company,
      country: "",
      credit_card: { expiry: null, last_four: null },
      email: row.email,
      euuid: row.euuid,
      zip: "",
    },
  });
});

test("every field can be changed, alone or with others, and each accepted change emits an event", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const whole = {
    address_1: "Quay 1",
    address_2: "Shed 4",
    city: "New York",
    company: "Harbour & Sons",
    country: "us",
    email: "bills@harbour.example",
    first_name: "Ada",
    last_name: "Marsh",
    phone: "+1 212 5550100",
    state: "ny",
    tax_id: "12-345",
    zip: "10001",
  };

  const changed = await alice.put<Account>(ACCOUNT, whole);

  expect(changed).toMatchObject({ status: 200, body: { ...whole, country: "US", state: "NY" } });
  expect((await alice.get(ACCOUNT)).body).toEqual(changed.body);
  expect((await alice.put(ACCOUNT, { phone: "" })).body).toEqual({ ...changed.body, phone: "" });
  expect(await eventsOf(alice)).toMatchObject([
    { action: "account_update" },
    {
      action: "account_update",
      status: "notification",
      username: alice.username,
      entity: { type: "account", id: null, label: "Harbour & Sons", url: ACCOUNT },
    },
  ]);
  const details = await world.db.selectFrom("audit").select("detail").where("action", "=", "update_account").execute();
  expect(details.at(-1)?.detail).toEqual({ fields: ["phone"] });
});

test("a client that sends back all fields that it received changes nothing and gets no error", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const before = await alice.get<Account>(ACCOUNT);

  const nulls = Object.fromEntries(Object.keys(before.body).map((field) => [field, null]));
  for (const sent of [before.body, nulls, {}, { ...before.body, balance: -5, euuid: "mine", capabilities: ["All"] }])
    expect(await alice.put(ACCOUNT, sent)).toMatchObject({ status: 200, body: before.body });
});

test("the tenant can change the billing address; the operator's key stays", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { email } = await world.account(alice.accountId);

  expect((await alice.put<Account>(ACCOUNT, { email: "bills@harbour.example" })).body.email).toBe(
    "bills@harbour.example",
  );

  const limits = { databases: 3, nodes: 3, memory_mb: 3, disk_mb: 3 };
  const again = await world.operator.post("/admin/accounts", { company: "Harbour", email, limits });
  expect(again.body).toMatchObject({ id: alice.accountId, email });
});

test("a country's rules are checked on the resulting account, and the error names the field to change", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await alice.put(ACCOUNT, { country: "CA", state: "ON", zip: "M5H 2N2" });

  const moved = await alice.put<Refusal>(ACCOUNT, { country: "US" });

  expect(moved.status).toBe(400);
  expect(moved.body.errors.map(({ field }) => field)).toEqual(["state", "zip"]);
  expect(moved.body.errors[1]?.reason).toBe(`zip must be a valid value: ${texts.zipMalformedUs().text}`);
  expect((await alice.get<Account>(ACCOUNT)).body).toMatchObject({ country: "CA", state: "ON", zip: "M5H 2N2" });
  expect(await eventsOf(alice)).toHaveLength(1);
  expect((await alice.put(ACCOUNT, { country: "US", state: "AE", zip: "09001" })).status).toBe(200);
});

test.each(["post@xn--e1afmkfd.xn--p1ai", "a&b@test.example", "user/dept@test.example", "почта@пример.рф"])(
  "%s is a valid address for the account and for its users",
  async (email) => {
    await using world = await newWorld();
    const alice = await world.customer();

    expect(await alice.put(ACCOUNT, { email })).toMatchObject({ status: 200, body: { email } });
    expect(await alice.post(`${ACCOUNT}/users`, { username: "clerk", email, restricted: true })).toMatchObject({
      status: 200,
      body: { email },
    });
    expect((await alice.put("/v4/profile", { email })).status).toBe(200);
  },
);

test.each([
  ["company", 'Harbour "Best"'],
  ["first_name", "<b>"],
  ["last_name", "a=b"],
  ["company", "Harbour (Ltd)"],
  ["country", "XX"],
  ["country", "Germany"],
  ["zip", "10_001"],
  ["zip", "1234567890"],
  ["email", "nobody"],
  ["city", 7],
  ["phone", "a\tb"],
])("a %s of %j is refused, with the name of the field", async (field, value) => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await alice.put<Refusal>(ACCOUNT, { [field]: value });

  expect(reply.status).toBe(400);
  expect(reply.body.errors).toMatchObject([
    { field, reason: expect.stringContaining(`${field} must be a valid value: `) },
  ]);
});

test("an account without access to databases lacks the capability until it has one or is granted it", async () => {
  await using world = await newWorld({ existingCustomersOnly: true });
  const alice = await world.customer();
  const capabilities = async () => (await alice.get<Account>(ACCOUNT)).body.capabilities;

  expect(await capabilities()).toEqual(["Machine Images"]);
  await world.operator.post(`/admin/accounts/${alice.accountId}/capabilities`, {
    capability: "Managed Databases",
    granted: true,
  });
  expect(await capabilities()).toEqual(["Managed Databases", "Machine Images"]);
  await activeDatabase(world, alice, await world.host());
  await world.operator.post(`/admin/accounts/${alice.accountId}/capabilities`, {
    capability: "Managed Databases",
    granted: false,
  });
  expect(await capabilities()).toEqual(["Managed Databases", "Machine Images"]);
});

test("settings are stored, and fields that cannot be set are left out", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const settings = {
    backups_enabled: false,
    longview_subscription: null,
    managed: false,
    network_helper: true,
    object_storage: "disabled",
  };

  expect((await alice.get(`${ACCOUNT}/settings`)).body).toEqual(settings);
  const change = { ...settings, backups_enabled: true, managed: true, network_helper: null };
  expect((await alice.put(`${ACCOUNT}/settings`, change)).body).toEqual({ ...settings, backups_enabled: true });
  expect((await alice.get(`${ACCOUNT}/settings`)).body).toEqual({ ...settings, backups_enabled: true });
  expect(await eventsOf(alice)).toMatchObject([{ action: "account_settings_update", entity: { type: "account" } }]);
  expect((await alice.put(`${ACCOUNT}/settings`, { network_helper: "yes" })).status).toBe(400);
});

test("databases are available where a host accepts them and not in an outage; create and regions agree", async () => {
  await using world = await newWorld({ withoutHosts: true });
  const alice = await world.customer();
  await world.operator.post("/admin/regions", { id: "eu-west", label: "Lisbon", country: "pt" });
  const there = async () => (await alice.get(`${ACCOUNT}/availability/${REGION}`)).body;
  const none = { region: REGION, available: [], unavailable: ["Managed Databases"] };
  const offered = async () =>
    (await alice.get<{ data: { id: string; capabilities: string[] }[] }>("/v4/regions")).body.data
      .filter(({ capabilities }) => capabilities.includes("Managed Databases"))
      .map(({ id }) => id);
  const create = async (region: string) => {
    world.time.now = new Date(world.time.now.getTime() + 60_000);
    return alice.post("/v4/databases/mysql/instances", { label: `db-${region}`, region, type: PLAN, engine: ENGINE });
  };
  const refusedWith = (valid: string) => ({
    status: 400,
    body: { errors: [{ field: "region", reason: `region must be a valid value: ${valid}` }] },
  });

  expect(await there()).toEqual(none);
  expect(await create(REGION)).toMatchObject(refusedWith("none is offered yet"));
  await world.host();
  expect(await there()).toEqual({ region: REGION, available: ["Managed Databases"], unavailable: [] });
  expect(await offered()).toEqual([REGION]);
  expect(await create("eu-west")).toMatchObject(refusedWith(REGION));
  expect(await create(REGION)).toMatchObject({ status: 200 });
  await world.operator.post(`/admin/regions/${REGION}/outage`, { message: "power" });
  expect(await there()).toEqual(none);
  expect(await offered()).toEqual([]);
  expect(await create(REGION)).toMatchObject(refusedWith("none is offered yet"));
  expect((await alice.get(`${ACCOUNT}/availability`)).body).toMatchObject({ data: [none, {}], results: 2 });
  expect((await alice.get(`${ACCOUNT}/availability/atlantis`)).status).toBe(404);
});

test("an account without the operator's permission sees no availability, nor which regions exist", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const set = (on: boolean) => world.operator.post(`/admin/accounts/${alice.accountId}/availability`, { on });

  await set(false);
  for (const path of ["", `/${REGION}`, "/atlantis"])
    expect(await alice.get(`${ACCOUNT}/availability${path}`)).toMatchObject({
      status: 403,
      body: { errors: [{ reason: texts.availabilityHidden().text }] },
    });
  await set(true);
  expect((await alice.get(`${ACCOUNT}/availability`)).status).toBe(200);
});

test("transfer is zero in every region", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const none = { billable: 0, quota: 0, used: 0 };

  expect((await alice.get(`${ACCOUNT}/transfer`)).body).toEqual({
    ...none,
    region_transfers: [{ id: REGION, ...none }],
  });
});
