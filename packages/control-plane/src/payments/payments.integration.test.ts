import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyLedger } from "#billing/index.ts";
import { EMPTY_CARD, GOOD_CARD, newPayingWorld, type PayingWorld } from "#testing/paying-world.ts";
import { texts } from "./texts.ts";

let world: PayingWorld;
beforeAll(async () => {
  world = await newPayingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Payer = Awaited<ReturnType<PayingWorld["payer"]>>;
const PAYMENTS = "/v4/account/payments";
const METHODS = "/v4/account/payment-methods";

const balanceOf = async ({ get }: Payer) => (await get<{ balance: number }>("/v4/account")).body.balance;
const methodsOf = async ({ get }: Payer) =>
  (await get<{ data: { id: number; is_default: boolean; data: { last_four: string } }[] }>(METHODS)).body.data;
const chargesOf = ({ accountId }: Payer) =>
  world.db.selectFrom("charges").selectAll().where("account_id", "=", accountId).orderBy("id").execute();
const chargedTo = async ({ accountId }: Payer) => {
  const { euuid } = await world.account(accountId);
  return world.fake.charged().filter(({ account }) => account === euuid);
};
const payWithKey = ({ token }: Payer, key: string, body: object) =>
  world.send({
    method: "POST",
    url: PAYMENTS,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
    payload: JSON.stringify(body),
  });

test("a payment charges the default card once, lowers the balance, and emits its two events", async () => {
  const alice = await world.payer();
  const before = await alice.get<{ results: number }>("/v4/account/events");

  const paid = await alice.post<{ id: number }>(PAYMENTS, { usd: "120.50" });

  expect(paid).toMatchObject({ status: 200, body: { usd: 120.5 } });
  expect(await chargedTo(alice)).toMatchObject([{ cents: 12_050 }]);
  expect(await balanceOf(alice)).toBe(-120.5);
  expect((await alice.get(`${PAYMENTS}/${paid.body.id}`)).body).toEqual(paid.body);
  expect((await alice.get(PAYMENTS)).body).toMatchObject({ data: [paid.body], results: 1 });
  const events = await alice.get<{ data: { action: string }[]; results: number }>("/v4/account/events");
  expect(events.body.results).toBe(before.body.results + 2);
  expect(events.body.data.slice(0, 2).map(({ action }) => action)).toEqual(["payment_submitted", "payment_method_add"]);
});

test("a declined card is 400 with what to do, and nothing is paid", async () => {
  const alice = await world.payer(EMPTY_CARD);

  const reply = await alice.post(PAYMENTS, { usd: "10.00" });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ reason: expect.stringContaining("declined") }] } });
  expect(await chargedTo(alice)).toEqual([]);
  expect(await balanceOf(alice)).toBe(0);
  // The next one can be made at once.
  expect((await alice.post(PAYMENTS, { usd: "10.00" })).status).toBe(400);
});

test("another card than the default is charged if it is named", async () => {
  const alice = await world.payer(EMPTY_CARD, GOOD_CARD);
  const [, good] = await methodsOf(alice);

  expect((await alice.post(PAYMENTS, { usd: "10.00", payment_method_id: good?.id })).status).toBe(200);
});

test.each([
  ["4.99", 0, 400],
  ["5.00", 0, 200],
  ["2000.00", 0, 200],
  ["2000.01", 0, 400],
  ["3.00", 3_000_000, 200],
  ["2.99", 3_000_000, 400],
  ["2500.00", 2_500_000_000, 200],
  ["2500.01", 2_500_000_000, 400],
  ["50000.00", 60_000_000_000, 200],
  ["50000.01", 60_000_000_000, 400],
])("a payment of %s when %i micro-dollars are owed is %i", async (usd, owed, status) => {
  const alice = await world.payer();
  await owe(alice, owed);

  const reply = await alice.post(PAYMENTS, { usd });

  expect(reply).toMatchObject({ status, body: status === 200 ? {} : { errors: [{ field: "usd" }] } });
});

test("without a payment method the error names how to add one; an unknown one is named", async () => {
  const alice = await world.customer();

  const none = await alice.post(PAYMENTS, { usd: "10.00" });
  expect(none).toMatchObject({ status: 400, body: { errors: [{ reason: texts.methodMissing().text }] } });

  const unknown = await alice.post(PAYMENTS, { usd: "10.00", payment_method_id: 1 });
  expect(unknown).toMatchObject({ status: 400, body: { errors: [{ field: "payment_method_id" }] } });
});

test("the same Idempotency-Key answers with the same payment, and with the same decline", async () => {
  const alice = await world.payer();
  const key = randomUUID();
  const first = await payWithKey(alice, key, { usd: "10.00" });
  const again = await payWithKey(alice, key, { usd: "10.00" });
  expect([first.statusCode, again.statusCode, again.payload]).toEqual([200, 200, first.payload]);
  expect(await chargedTo(alice)).toHaveLength(1);

  const other = await payWithKey(alice, key, { usd: "11.00" });
  expect(other).toMatchObject({ statusCode: 400, payload: expect.stringContaining("Idempotency-Key") });

  const bob = await world.payer(EMPTY_CARD);
  const declined = await payWithKey(bob, key, { usd: "10.00" });
  const declinedAgain = await payWithKey(bob, key, { usd: "10.00" });
  expect([declined.statusCode, declinedAgain.payload]).toEqual([400, declined.payload]);
  expect(await chargesOf(bob)).toHaveLength(1);
});

test("an unknown outcome is 503, blocks other payments, and is settled without a second charge", async () => {
  const alice = await world.payer();
  world.fake.fail("break after");
  const key = randomUUID();

  const unknown = await payWithKey(alice, key, { usd: "10.00" });
  expect(unknown).toMatchObject({ statusCode: 503, headers: { "retry-after": expect.anything() } });
  expect(await alice.post(PAYMENTS, { usd: "20.00" })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.inProgress({ amount: "$10.00" }).text }] },
  });

  await later(20);
  await world.chargeJob();
  expect(await chargesOf(alice)).toMatchObject([{ status: "succeeded" }]);
  expect(await chargedTo(alice)).toHaveLength(1);
  expect(await balanceOf(alice)).toBe(-10);
  expect(await payWithKey(alice, key, { usd: "10.00" })).toMatchObject({ statusCode: 200 });
});

test("if the key's stored answer is an error, the charge is looked up instead of repeated", async () => {
  const alice = await world.payer();
  world.fake.fail("error after");
  expect((await alice.post(PAYMENTS, { usd: "10.00" })).status).toBe(503);

  await later(20);
  await world.chargeJob();

  expect(await chargesOf(alice)).toMatchObject([{ status: "succeeded", attempts: 2 }]);
  expect(await chargedTo(alice)).toHaveLength(1);
});

// Stripe forgets keys after a day. A charge not made by then must not be made with the same key later.
test("a charge that never reached the provider is given up after 20 hours, and not made then", async () => {
  const alice = await world.payer();
  world.fake.fail("error before");
  expect((await alice.post(PAYMENTS, { usd: "10.00" })).status).toBe(503);

  await later(20 * 3600);
  await world.chargeJob();

  expect(await chargesOf(alice)).toMatchObject([{ status: "declined", reason: texts.providerUnreachable().text }]);
  expect(await chargedTo(alice)).toEqual([]);
  expect((await alice.post(PAYMENTS, { usd: "10.00" })).status).toBe(200);
});

test("an event settles a charge of unknown outcome, however often and late it arrives", async () => {
  const alice = await world.payer();
  world.fake.takeEvents();
  world.fake.fail("break after");
  expect((await alice.post(PAYMENTS, { usd: "10.00" })).status).toBe(503);
  const providerEvents = world.fake.takeEvents();

  for (const event of [...providerEvents, ...providerEvents]) expect(await world.deliver(event)).toBe(200);
  await later(3600);
  await world.chargeJob();
  for (const event of providerEvents) expect(await world.deliver(event)).toBe(200);

  expect(await balanceOf(alice)).toBe(-10);
  expect((await alice.get(PAYMENTS)).body).toMatchObject({ results: 1 });
});

test("refunds are totals: repeated or out of order they count once, even before the charge is known", async () => {
  const alice = await world.payer();
  world.fake.takeEvents();
  world.fake.fail("break after");
  expect((await alice.post(PAYMENTS, { usd: "100.00" })).status).toBe(503);
  const [succeeded] = world.fake.takeEvents();
  const [charge] = await chargedTo(alice);
  world.fake.refund(charge?.providerId ?? "", 3000);
  world.fake.refund(charge?.providerId ?? "", 2000);
  const [first, second] = world.fake.takeEvents();

  const providerEvents = [second, first, succeeded, second].flatMap((event) => event ?? []);
  for (const event of providerEvents) expect(await world.deliver(event)).toBe(200);
  expect(providerEvents).toHaveLength(4);

  expect(await balanceOf(alice)).toBe(-50);
  expect(await chargesOf(alice)).toMatchObject([{ status: "succeeded", refunded_micros: 50_000_000 }]);
  const { faults } = await verifyLedger(world.db);
  expect(faults.filter(({ account }) => account === alice.accountId)).toEqual([]);
});

test("a decline does not override a payment; a payment overrides giving up", async () => {
  const alice = await world.payer();
  world.fake.takeEvents();
  await alice.post(PAYMENTS, { usd: "10.00" });
  const [succeeded] = world.fake.takeEvents();
  if (succeeded === undefined) throw new Error("no event");
  const failed = { ...succeeded, id: "evt_other", type: "payment_intent.payment_failed" };
  expect(await world.deliver(failed)).toBe(200);
  expect(await balanceOf(alice)).toBe(-10);

  const bob = await world.payer();
  world.fake.fail("break after");
  expect((await bob.post(PAYMENTS, { usd: "10.00" })).status).toBe(503);
  const [late] = world.fake.takeEvents();
  await world.db.updateTable("charges").set({ status: "declined" }).where("account_id", "=", bob.accountId).execute();
  if (late !== undefined) await world.deliver(late);
  expect(await balanceOf(bob)).toBe(-10);
});

test("an event without the provider's signature, or with another's, is 400 and changes nothing", async () => {
  const alice = await world.payer();
  world.fake.takeEvents();
  world.fake.fail("break after");
  await alice.post(PAYMENTS, { usd: "10.00" });
  const [event] = world.fake.takeEvents();
  const payload = JSON.stringify(event);
  const headers = { "content-type": "application/json" };
  const at = Math.floor(Date.now() / 1000);

  for (const signature of [undefined, "", `t=${at},v1=${"0".repeat(64)}`]) {
    const reply = await world.send({
      method: "POST",
      url: "/webhooks/stripe",
      payload,
      headers: { ...headers, ...(signature !== undefined && { "stripe-signature": signature }) },
    });
    expect(reply.statusCode).toBe(400);
  }
  expect(await chargesOf(alice)).toMatchObject([{ status: "pending" }]);
  expect(
    await world.db
      .selectFrom("provider_events")
      .where("id", "=", event?.id ?? "")
      .selectAll()
      .execute(),
  ).toEqual([]);
});

test("a charge with the same number by another installation, or from before a restore, is ignored", async () => {
  const alice = await world.payer();
  world.fake.takeEvents();
  world.fake.fail("break after");
  await alice.post(PAYMENTS, { usd: "10.00" });
  const [event] = world.fake.takeEvents();
  const text = JSON.stringify(event);
  const anothers = text.replace((await world.account(alice.accountId)).euuid, randomUUID());
  const earlier = text.replace(/"opened":"[^"]*"/, '"opened":"2020-01-01T00:00:00.000Z"').replace("evt_", "evt_2");

  for (const other of [anothers, earlier]) expect(await world.deliver(JSON.parse(other))).toBe(200);

  expect(await chargesOf(alice)).toMatchObject([{ status: "pending" }]);
  await later(60);
  await world.chargeJob();
  expect(await chargesOf(alice)).toMatchObject([{ status: "succeeded" }]);
});

const later = async (seconds: number): Promise<void> => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};

/** As an invoice would leave it. */
async function owe({ accountId }: Payer, micros: number): Promise<void> {
  if (micros === 0) return;
  await world.db
    .insertInto("ledger")
    .values({
      account_id: accountId,
      at: world.time.now,
      kind: "invoice",
      source: accountId,
      receivable_micros: micros,
      revenue_micros: -micros,
    })
    .execute();
}
