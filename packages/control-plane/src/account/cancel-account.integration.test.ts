import type { Account } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { verifyLedger } from "#billing/index.ts";
import { beingMade, createChargeJob } from "#payments/index.ts";
import { createLog } from "#platform/log.ts";
import { desiredSpec } from "#testing/active-database.ts";
import { DECLINING, GOOD, addCard, later, owing } from "#testing/cancelling.ts";
import { countWaiting } from "#testing/count-waiting.ts";
import { notificationsOf } from "#testing/notifications-of.ts";
import { CLOSED_ACCOUNT_DAYS, newWorld, SURVEY_URL, type World } from "#testing/world.ts";
import { createWhenCancelled } from "./close-account.ts";
import { texts } from "./texts.ts";

const ACCOUNT = "/v4/account";
const CANCEL = `${ACCOUNT}/cancel`;

/** Everything that a failed cancellation must not change. */
async function everythingOf(world: World) {
  const of = async (table: string) =>
    (await sql`select * from ${sql.table(table)} order by 1, 2`.execute(world.db)).rows;
  const names = ["accounts", "users", "tokens", "databases", "nodes", "operations", "usage_facts"];
  const money = ["invoices", "invoice_items", "ledger", "payments", "payment_methods", "events", "notifications"];
  return Object.fromEntries(await Promise.all([...names, ...money].map(async (table) => [table, await of(table)])));
}
const factsOf = async (world: World) =>
  (await world.db.selectFrom("usage_facts").select(["state", "at"]).orderBy("sequence").execute()).map(
    ({ state, at }) => `${state} ${at.toISOString()}`,
  );
const chargesOf = (world: World) =>
  world.db.selectFrom("charges").select(["purpose", "status", "amount_micros"]).orderBy("id").execute();
const invoicesOf = (world: World, accountId: number) =>
  world.db.selectFrom("invoices").selectAll().where("account_id", "=", accountId).execute();
const chargeJob = async (world: World) => {
  const provider = world.chargeProvider;
  const whenSettled = { cancel: createWhenCancelled({ closedAccountDays: CLOSED_ACCOUNT_DAYS }) };
  return createChargeJob({
    db: world.db,
    clock: world.clock,
    eachDue: world.eachDue,
    log: createLog("test", "silent"),
    provider,
    whenSettled,
  })();
};

test("with a declined card it is 409 with only a reason, and nothing changes", async () => {
  await using world = await newWorld();
  const { alice, database } = await owing(world);
  await addCard(alice, DECLINING);
  const before = await everythingOf(world);

  const reply = await alice.post<{ errors: object[] }>(CANCEL, { comments: "too expensive" });

  expect(reply.status).toBe(409);
  expect(reply.body).toEqual({
    errors: [{ reason: expect.stringMatching(/charge of \$3\.00 .* failed: .*not canceled/) }],
  });
  expect(await everythingOf(world)).toEqual(before);
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect((await world.payments()).charged().length).toBe(0);

  await addCard(alice, GOOD);
  expect((await alice.post(CANCEL, {})).status).toBe(200);
});

test("with a valid card the balance and the usage are charged once, and then everything ends", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await owing(world);
  const bob = await world.colleague(alice.accountId);
  await addCard(alice, GOOD);
  const cutoff = world.time.now;

  const reply = await alice.post(CANCEL, { comments: "moving house" });

  expect(reply).toMatchObject({ status: 200, body: { survey_link: SURVEY_URL } });
  // One charge.
  expect((await world.payments()).charged()).toMatchObject([{ cents: 300 }]);
  expect(await chargesOf(world)).toEqual([{ purpose: "cancel", status: "succeeded", amount_micros: 3_000_000 }]);
  // A final invoice, and a ledger that balances.
  expect(await invoicesOf(world, alice.accountId)).toMatchObject([{ total_micros: 3_000_000, until: cutoff }]);
  expect(await verifyLedger(world.db)).toMatchObject({ faults: [] });
  // The tokens of all users are invalid.
  for (const user of [alice, bob])
    for (const path of [ACCOUNT, database.url, "/v4/profile"])
      expect(await user.get(path)).toMatchObject({
        status: 401,
        body: { errors: [{ reason: "Invalid Token: the account of this token is closed." }] },
      });
  // Metering has ended.
  expect((await factsOf(world)).at(-1)).toBe(`ended ${cutoff.toISOString()}`);
  // The database stops, and its data are kept.
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  expect(await desiredSpec(world)).toMatchObject({ power: "off" });
  await host.report(await desiredSpec(world), "stopped");
  await world.activities.endChange(id, { done: true });
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "suspended", powered: false, deleted_at: null });
  expect(await factsOf(world)).toHaveLength(2);
  const account = await world.account(alice.accountId);
  expect(account.closed_at).toEqual(cutoff);
  expect(account.data_until).toEqual(new Date(cutoff.getTime() + CLOSED_ACCOUNT_DAYS * 86_400_000));
  expect((await world.operator.get(`/admin/accounts/${alice.accountId}`)).body).toMatchObject({
    balance: 0,
    cancellation: { by: alice.username, comments: "moving house", invoice: expect.any(Number) },
  });
});

test("unpaid earlier invoices are part of the same charge", async () => {
  await using world = await newWorld();
  const { alice } = await owing(world);
  await world.db
    .insertInto("ledger")
    .values({
      account_id: alice.accountId,
      at: world.time.now,
      kind: "invoice",
      source: 1,
      receivable_micros: 5_000_000,
      revenue_micros: -5_000_000,
    })
    .execute();
  const { balance, balance_uninvoiced } = (await alice.get<Account>(ACCOUNT)).body;
  await addCard(alice, GOOD);

  expect((await alice.post(CANCEL)).status).toBe(200);

  expect([balance, balance_uninvoiced]).toEqual([5, 3]);
  expect((await world.payments()).charged()).toMatchObject([{ cents: 800 }]);
});

test("an account that owes nothing needs no charge and no card", async () => {
  await using world = await newWorld({ provider: "none" });
  const alice = await world.customer();

  expect((await alice.post(CANCEL)).status).toBe(200);

  expect(await chargesOf(world)).toEqual([]);
  expect((await alice.get(ACCOUNT)).status).toBe(401);
  expect((await world.account(alice.accountId)).closed_at).toEqual(world.time.now);
});

test("an amount too small to charge does not prevent closing, and stays in the ledger", async () => {
  await using world = await newWorld({ provider: "none" });
  const alice = await world.customer();
  const owe = (source: number, micros: number) =>
    world.db
      .insertInto("ledger")
      .values({
        account_id: alice.accountId,
        at: world.time.now,
        kind: "invoice",
        source,
        receivable_micros: micros,
        revenue_micros: -micros,
      })
      .execute();

  await owe(1, 500_000);
  expect((await alice.post(CANCEL)).status).toBe(409);
  await owe(2, -10_000);
  expect((await alice.post(CANCEL)).status).toBe(200);

  expect(await chargesOf(world)).toEqual([]);
  expect((await world.operator.get(`/admin/accounts/${alice.accountId}`)).body).toMatchObject({ balance: 0.49 });
});

test("owing without a card is 409 and changes nothing", async () => {
  await using world = await newWorld();
  const { alice } = await owing(world);
  const before = await everythingOf(world);

  expect(await alice.post(CANCEL)).toMatchObject({
    status: 409,
    body: { errors: [{ reason: texts.cancelWithoutPaymentMethod({ amount: "$3.00" }).text }] },
  });

  expect(await everythingOf(world)).toEqual(before);
  expect(await chargesOf(world)).toEqual([]);
});

test("an unknown outcome leaves the account open, and closes it when the outcome is known", async () => {
  await using world = await newWorld();
  const { alice, database } = await owing(world);
  await addCard(alice, GOOD);
  const cutoff = world.time.now;
  (await world.payments()).fail("break after");

  const reply = await alice.post(CANCEL, { comments: "c" });

  expect(reply).toMatchObject({
    status: 409,
    body: { errors: [{ reason: texts.cancelChargeUnconfirmed({ amount: "$3.00" }).text }] },
  });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  // A second attempt does not charge again.
  expect((await alice.post(CANCEL)).status).toBe(400);
  later(world, 1);
  await chargeJob(world);

  expect((await alice.get(ACCOUNT)).status).toBe(401);
  expect((await world.payments()).charged()).toMatchObject([{ cents: 300 }]);
  // The hour without an answer is not on it.
  expect(await invoicesOf(world, alice.accountId)).toMatchObject([{ total_micros: 3_000_000, until: cutoff }]);
  await world.run("closedAccounts");
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "suspending", powered: false });
});

test("an account cannot be cancelled during a payment, even if it owes nothing", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await addCard(alice, GOOD);
  (await world.payments()).fail("break after");
  expect((await alice.post("/v4/account/payments", { usd: "5.00" })).status).toBe(503);

  expect(await alice.post(CANCEL)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: beingMade({ amount_micros: 5_000_000 }).message }] },
  });

  expect((await alice.get(ACCOUNT)).status).toBe(200);
});

test("twenty identical concurrent requests make one charge, and one of them closes the account", async () => {
  await using world = await newWorld();
  const { alice } = await owing(world);
  await addCard(alice, GOOD);

  const replies = await Promise.all(Array.from({ length: 20 }, () => alice.post(CANCEL)));

  const statuses = replies.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.every((status) => [200, 400, 401].includes(status))).toBe(true);
  expect((await world.payments()).charged()).toHaveLength(1);
  expect(await chargesOf(world)).toHaveLength(1);
  expect(await invoicesOf(world, alice.accountId)).toHaveLength(1);
});

test("a restricted user cannot cancel, whatever their grants", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const rob = await world.colleague(owner.accountId, { restricted: true });
  await owner.put(`/v4/account/users/${rob.username}/grants`, {
    global: { account_access: "read_write", cancel_account: true },
  });

  expect((await rob.post(CANCEL)).status).toBe(403);
  expect((await owner.get(ACCOUNT)).status).toBe(200);
});

test("every process learns that the tokens are invalid", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await using notifications = await notificationsOf(world.databaseUrl, "identity");

  await alice.post(CANCEL);

  await expect.poll(() => notifications.received.length).toBeGreaterThan(0);
});

type Customer = Awaited<ReturnType<World["customer"]>>;

/** The outcome of a request that waits for the account's row while the account is closed. */
async function requestedWhileClosing(
  world: World,
  alice: Customer,
  request: (alice: Customer) => Promise<{ status: number }>,
) {
  const waiting = await world.db.transaction().execute(async (tx) => {
    await tx.updateTable("accounts").set({ closed_at: world.time.now }).where("id", "=", alice.accountId).execute();
    const reply = request(alice);
    await expect.poll(() => countWaiting(world)).toBe(1);
    return { reply };
  });
  return waiting.reply;
}
const countOf = async (world: World, table: string): Promise<number> =>
  (await sql`select from ${sql.table(table)}`.execute(world.db)).rows.length;

const racing: [string, (alice: Customer) => Promise<{ status: number }>, string][] = [
  ["a database", (alice) => alice.create(), "databases"],
  ["a token", (alice) => alice.post("/v4/profile/tokens", { label: "late", scopes: "*" }), "tokens"],
  ["a user", (alice) => alice.post("/v4/account/users", { username: "late", email: "l@test.example" }), "users"],
  [
    "an app",
    (alice) => alice.post("/v4/account/oauth-clients", { label: "late", redirect_uri: "https://a.example/b" }),
    "oauth_clients",
  ],
  ["a change of the account", (alice) => alice.put(ACCOUNT, { city: "Late" }), "events"],
];
test.each(racing)("%s that is in progress while the account closes has no effect", async (_what, make, table) => {
  await using world = await newWorld();
  const alice = await world.customer();
  const before = await countOf(world, table);

  expect((await requestedWhileClosing(world, alice, make)).status).toBe(401);

  expect(await countOf(world, table)).toBe(before);
});

test("a payment in progress while the account closes charges nothing", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await addCard(alice, GOOD);

  const pay = () => alice.post("/v4/account/payments", { usd: "5.00" });
  expect((await requestedWhileClosing(world, alice, pay)).status).toBe(401);

  expect(await chargesOf(world)).toEqual([]);
});

test("an account billed by a partner is cancelled without a card or charge; its debt stays in the ledger", async () => {
  await using world = await newWorld();
  const { alice, database } = await owing(world);
  const other = await owing(world);
  await addCard(other.alice, GOOD);
  await world.db.updateTable("accounts").set({ billing_source: "partner" }).execute();

  for (const customer of [alice, other.alice])
    expect(await customer.post(CANCEL, {})).toMatchObject({ status: 200, body: { survey_link: SURVEY_URL } });

  expect([await chargesOf(world), (await world.payments()).charged()]).toEqual([[], []]);
  expect(await invoicesOf(world, alice.accountId)).toMatchObject([{ total_micros: 3_000_000 }]);
  expect((await alice.get(database.url)).status).toBe(401);
  expect((await verifyLedger(world.db)).faults).toEqual([]);
});

/** Like a client that lost the first answer. */
const sendCancel = (world: World, token: string, key: string, body: object = { comments: "moving" }) =>
  world.send({
    method: "POST",
    url: CANCEL,
    payload: JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
  });

test.each(["something", "nothing"])(
  "a repeated cancellation with the same key, owing %s, gets the first answer although the token is invalid",
  async (owed) => {
    await using world = await newWorld();
    const alice = owed === "something" ? (await owing(world)).alice : await world.customer();
    const bob = await world.colleague(alice.accountId);
    if (owed === "something") await addCard(alice, GOOD);

    const first = await sendCancel(world, alice.token, "once");
    const charged = (await world.payments()).charged().length;
    const again = await sendCancel(world, alice.token, "once");

    expect([first.statusCode, first.json()]).toEqual([200, { survey_link: SURVEY_URL }]);
    expect([again.statusCode, again.json()]).toEqual([200, { survey_link: SURVEY_URL }]);
    expect((await world.payments()).charged().length).toBe(charged);
    // The token works for nothing and nobody else.
    expect((await sendCancel(world, alice.token, "another")).statusCode).toBe(401);
    expect((await sendCancel(world, bob.token, "once")).statusCode).toBe(401);
    expect((await sendCancel(world, alice.token, "once", { comments: "staying" })).statusCode).toBe(400);
    expect((await alice.get(ACCOUNT)).status).toBe(401);
    world.time.now = new Date(world.time.now.getTime() + 25 * 3_600_000);
    expect((await sendCancel(world, alice.token, "once")).statusCode).toBe(401);
  },
);
