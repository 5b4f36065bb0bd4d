import type { ImageUpload } from "@moorage/contract";
import { readSettings } from "@moorage/contract/settings";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPurgingImageStores } from "../../packages/control-plane/src/images/index.ts";
import { createRateLimiter } from "../../packages/control-plane/src/platform/limits/rate-limiter.ts";
import { rateLimitSettings, rateLimitsOf } from "../../packages/control-plane/src/platform/limits/settings.ts";
import { createLog } from "../../packages/control-plane/src/platform/log.ts";
import { offerClusterPlan, databaseFixture } from "../../packages/control-plane/src/testing/active-database.ts";
import { importAll, uploaded } from "../../packages/control-plane/src/testing/import-fixture.ts";
import { startObjectStore } from "../../packages/control-plane/src/testing/object-store.ts";
import { archivedThrough, later, midnightAfter } from "../../packages/control-plane/src/testing/archive-records.ts";
import { newValkey } from "../../packages/control-plane/src/testing/valkey.ts";
import { newWorld, REGION, type World } from "../../packages/control-plane/src/testing/world.ts";
import { addCard, cardNumber, type Limit, limits, ZIP } from "./limits.ts";
import { newCompute } from "./money.ts";

const DAY_SECONDS = 86_400;

let world: World;
beforeAll(async () => {
  world = await newWorld();
  await world.host({ memory_mb: 1_024_000, disk_mb: 10_240_000 });
  await offerClusterPlan(world);
});
afterAll(() => world[Symbol.asyncDispose]());

const shown = (value: unknown): string => {
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 30)}… of ${text.length}` : text;
};
type Errors = { errors: { field?: string; reason: string }[] };
const each = (side: "inside" | "outside") =>
  Object.entries(limits).flatMap(([name, limit]) =>
    limit[side].map((value) => [name, shown(value), limit, value as never] as const),
  );

test.each(each("inside"))("%s: %s is accepted", async (_name, _shown, { send }: Limit, value) => {
  const reply = await send(await world.customer(), value);
  expect(reply).toMatchObject({ status: 200 });
});

test.each(each("outside"))("%s: %s is refused on its field", async (_name, _shown, { field, send }: Limit, value) => {
  const { status, body } = await send(await world.customer(), value);
  const { errors } = body as Errors;

  expect([status, errors.map((error) => error.field)]).toEqual([400, [field]]);
  expect(errors[0]?.reason).toMatch(new RegExp(`^${field} must be a valid value: .`));
});

/** A customer in a separate world, whose clock can be moved. */
async function customerWithZip() {
  const own = await newWorld();
  const who = await own.customer();
  await who.put("/v4/account", ZIP);
  return { own, who, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}
const numberOf = (n: number): { card_number: string } => ({
  card_number: cardNumber(16, `4242${String(n).padStart(6, "0")}`),
});

test("active payment methods: the sixth is accepted, the seventh is refused until one is removed", async () => {
  await using staging = await customerWithZip();
  const { who } = staging;
  for (let n = 1; n <= 6; n++) expect((await addCard(who, numberOf(n))).status).toBe(200);

  const seventh = await addCard(who, numberOf(7));
  const { data } = (await who.get<{ data: { id: number; is_default: boolean }[] }>("/v4/account/payment-methods")).body;

  expect(seventh.status).toBe(400);
  expect((seventh.body as Errors).errors[0]?.reason).toContain("6");
  expect(data).toHaveLength(6);
  await who.delete(`/v4/account/payment-methods/${data.find(({ is_default }) => !is_default)?.id}`);
  expect((await addCard(who, numberOf(8))).status).toBe(200);
});

test("payment methods added: at most sixty in 24 hours; the next only when the first is a day old", async () => {
  await using staging = await customerWithZip();
  const { own, who } = staging;
  const removeOthers = async (): Promise<void> => {
    const path = "/v4/account/payment-methods";
    const { data } = (await who.get<{ data: { id: number; is_default: boolean }[] }>(path)).body;
    for (const { id, is_default } of data) if (!is_default) await who.delete(`${path}/${id}`);
  };
  // By both operations together. The second one makes its card the default, so the previous card can be removed.
  for (let n = 1; n <= 60; n++) {
    const body = { ...numberOf(n), cvv: "123", expiry_month: 12, expiry_year: 2049 };
    const reply = n % 2 === 0 ? await who.post("/v4/account/credit-card", body) : await addCard(who, numberOf(n));
    expect(reply).toMatchObject({ status: 200 });
    await removeOthers();
  }

  const next = await addCard(who, numberOf(61));
  expect(next.status).toBe(400);
  expect((next.body as Errors).errors[0]?.reason).toContain("60");
  later(own, DAY_SECONDS - 1);
  expect((await addCard(who, numberOf(62))).status).toBe(400);
  later(own, 1);
  expect((await addCard(who, numberOf(63))).status).toBe(200);
});

test("expiry: a card is valid until the end of its month", async () => {
  await using staging = await customerWithZip();
  const { own, who } = staging;
  own.time.now = new Date("2031-05-31T23:59:59Z");
  await sql`select ensure_event_partitions(${own.time.now}, 1)`.execute(own.db);

  expect((await addCard(who, { expiry_month: 5, expiry_year: 2031 })).status).toBe(200);
  const before = await addCard(who, { expiry_month: 4, expiry_year: 2031 });
  expect([before.status, (before.body as Errors).errors.map(({ field }) => field)]).toEqual([
    400,
    [expect.stringMatching(/^data\.expiry_(month|year)$/)],
  ]);
  later(own, 1);
  expect((await addCard(who, { expiry_month: 5, expiry_year: 2031 })).status).toBe(400);
});

test("backups kept: of eight midnights the seven newest", async () => {
  await using own = await newWorld();
  const { alice, database } = await databaseFixture(own);
  const first = midnightAfter(own.time.now).getTime();
  const kept = async () => (await alice.get<{ data: object[]; results: number }>(`${database.url}/backups`)).body;

  for (const [night, expected] of [1, 2, 3, 4, 5, 6, 7, 7].entries()) {
    own.time.now = new Date(first + night * DAY_SECONDS * 1000 + 60_000);
    await archivedThrough(own, database);
    await own.run("dailyPoints");
    expect((await kept()).results).toBe(expected);
  }
  const second = new Date(first + DAY_SECONDS * 1000).toISOString().slice(0, 19);
  expect((await kept()).data[0]).toMatchObject({ type: "auto", created: second });
});

test("transfer lifetime: accepted in the last second of 24 hours, and not after it", async () => {
  await using own = await newWorld();
  const [giver, taker] = [await own.customer(), await own.customer()];
  const offer = async () => {
    const body = { entities: { computes: [await newCompute(own, giver.accountId)] } };
    return (await giver.post<{ token: string; created: string; expiry: string }>("/v4/account/service-transfers", body))
      .body;
  };
  const accept = (token: string) => taker.post(`/v4/account/service-transfers/${token}/accept`);
  const [one, other] = [await offer(), await offer()];
  expect(Date.parse(one.expiry) - Date.parse(one.created)).toBe(DAY_SECONDS * 1000);

  later(own, DAY_SECONDS - 1);
  expect((await accept(one.token)).body).toEqual({});
  later(own, 1);
  expect(await accept(other.token)).not.toMatchObject({ status: 200 });
  expect((await giver.get(`/v4/account/service-transfers/${other.token}`)).body).toMatchObject({ status: "stale" });
});

/** A world with a real image store. */
async function imageWorld() {
  const parts = new AsyncDisposableStack();
  const store = parts.use(await startObjectStore());
  const stores = createPurgingImageStores({ default: { regions: [], ...store.settings } }, 24);
  const imageStores = parts.adopt(stores, async ({ close }) => close());
  const own = parts.use(await newWorld({ imageStores }));
  return { own, store, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}
type NotificationPage = { data: { status: string; message: string }[] };
const lastEvent = async (who: { get: World["anonymous"]["get"] }) =>
  (await who.get<NotificationPage>("/v4/account/events")).body.data[0];

// One more byte is refused without reading any data; other refusals happen after reading.
test.each([
  [5_000_000_000, /gzip/],
  [5_000_000_001, /5000000001 bytes.*5000000000 bytes/],
])("image upload size: %i bytes end with %s", async (bytes, reason) => {
  await using staging = await imageWorld();
  const { own, store } = staging;
  const alice = await own.customer();
  const { id } = await uploaded(own, alice, Buffer.from("no disk"));
  store.stretch(`uploads/${id}`, bytes);

  await importAll(own);

  expect(await lastEvent(alice)).toMatchObject({ status: "failed", message: expect.stringMatching(reason) });
  expect((await alice.get(`/v4/images/private/${id}`)).body).toMatchObject({ status: "pending_upload", size: 0 });
});

test("image upload window: the image waits for its data for 24 hours to the second, and is then gone", async () => {
  await using staging = await imageWorld();
  const { own } = staging;
  const alice = await own.customer();
  const body = { label: "late", region: REGION };
  const { image, upload_to } = (await alice.post<ImageUpload>("/v4/images/upload", body)).body;
  expect(new URL(upload_to).searchParams.get("X-Amz-Expires")).toBe(String(DAY_SECONDS));

  later(own, DAY_SECONDS - 1);
  await own.run("removeImages");
  expect((await alice.get(`/v4/images/${image.id}`)).body).toMatchObject({ status: "pending_upload" });
  later(own, 1);
  await own.run("removeImages");
  expect((await alice.get(`/v4/images/${image.id}`)).status).toBe(404);
  expect(await lastEvent(alice)).toMatchObject({ status: "failed", message: expect.stringContaining("24 hours") });
});

test("images list: twenty a minute for a token and for an address, while other lists still work", async () => {
  await using valkey = await newValkey();
  const defaults = rateLimitsOf(readSettings(rateLimitSettings, {}));
  const log = createLog("test", "silent");
  const limiter = createRateLimiter({ limits: defaults, shared: await valkey.limits(), log });
  await using own = await newWorld({ limiter });
  const alice = await own.customer();

  for (const who of [alice, own.anonymous]) {
    const startedAt = performance.now();
    const replies = await Promise.all(Array.from({ length: 60 }, () => who.get("/v4/images")));
    const earned = Math.ceil((performance.now() - startedAt) / 3000);
    const served = replies.filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThanOrEqual(20);
    expect(served.length).toBeLessThanOrEqual(20 + earned);
    expect(replies.find(({ status }) => status === 429)).toMatchObject({
      headers: { "retry-after": expect.stringMatching(/^\d+$/), "x-ratelimit-limit": "20" },
      body: { errors: [{ reason: "Too many requests" }] },
    });
    expect((await who.get("/v4/regions")).status).toBe(200);
  }
});

test("event history: shown for 90 days, and not for 91", async () => {
  await using own = await newWorld();
  const alice = await own.customer();
  await alice.put("/v4/profile", { timezone: "Europe/Berlin" });
  const listed = async () => (await alice.get<{ results: number }>("/v4/account/events")).body.results;

  later(own, 90 * DAY_SECONDS);
  expect(await listed()).toBe(1);
  later(own, DAY_SECONDS);
  expect(await listed()).toBe(0);
});

test("login history: shown for 90 days to the second", async () => {
  await using own = await newWorld();
  const alice = await own.customer();
  await own.db
    .insertInto("logins")
    .values({
      at: own.time.now,
      account_id: alice.accountId,
      user_id: alice.userId,
      username: alice.username,
      restricted: false,
      address: "192.0.2.1",
      status: "successful",
    })
    .execute();
  const listed = async () => (await alice.get<{ results: number }>("/v4/account/logins")).body.results;

  later(own, 90 * DAY_SECONDS);
  expect(await listed()).toBe(1);
  later(own, 1);
  expect(await listed()).toBe(0);
});
