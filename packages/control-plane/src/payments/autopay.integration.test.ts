import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { owe } from "#testing/owe.ts";
import { EMPTY_CARD, GOOD_CARD, newPayingWorld, type PayingWorld } from "#testing/paying-world.ts";
import { texts } from "./texts.ts";

let world: PayingWorld;
beforeAll(async () => {
  world = await newPayingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.fake.heal());

type Payer = Awaited<ReturnType<PayingWorld["payer"]>>;
const DAY = 86_400;

const balanceOf = async ({ get }: Payer) => (await get<{ balance: number }>("/v4/account")).body.balance;
const noticesOf = async ({ get }: Payer) =>
  (await get<{ data: { label: string; message: string }[] }>("/v4/account/notifications")).body.data;
const chargesOf = ({ accountId }: Payer) =>
  world.db.selectFrom("charges").selectAll().where("account_id", "=", accountId).orderBy("id").execute();
const reasonOf = async (payer: Payer) => (await chargesOf(payer)).at(-1)?.reason ?? "";
const later = (seconds: number): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};

const invoice = ({ accountId }: Payer, micros: number): Promise<void> => owe(world, accountId, micros);

test("the balance after an invoice is charged to the default card, once", async () => {
  const alice = await world.payer();
  await invoice(alice, 12_340_000);

  await Promise.all([world.chargeJob(), world.chargeJob(), world.chargeJob()]);
  await world.chargeJob();

  expect(await balanceOf(alice)).toBe(0);
  expect(await chargesOf(alice)).toMatchObject([{ purpose: "invoice", amount_micros: 12_340_000, username: null }]);
  expect(world.fake.charged().filter(({ cents }) => cents === 1234)).toHaveLength(1);
});

test("an amount paid in advance is not charged again", async () => {
  const alice = await world.payer();
  await alice.post("/v4/account/payments", { usd: "10.00" });
  await invoice(alice, 12_000_000);
  await world.chargeJob();
  expect((await chargesOf(alice)).map(({ amount_micros }) => amount_micros)).toEqual([10_000_000, 2_000_000]);

  await alice.post("/v4/account/payments", { usd: "10.00" });
  await invoice(alice, 7_000_000);
  await world.chargeJob();
  expect(await chargesOf(alice)).toHaveLength(3);
});

test("nothing is charged without a default card, or when a partner bills the account", async () => {
  const cardless = await world.customer();
  const partners = await world.payer();
  await world.db
    .updateTable("accounts")
    .set({ billing_source: "partner" })
    .where("id", "=", partners.accountId)
    .execute();
  await invoice(cardless, 9_000_000);
  await invoice(partners, 9_000_000);

  await world.chargeJob();

  expect([...(await chargesOf(cardless)), ...(await chargesOf(partners))]).toEqual([]);
});

test("a decline is retried after 1, 3 and 7 days and then given up, with a notification each time", async () => {
  const alice = await world.payer(EMPTY_CARD);
  await invoice(alice, 9_000_000);

  await world.chargeJob();
  const attempts: number[] = [];
  for (const days of [1, 3, 7]) {
    const on = new Date(world.time.now.getTime() + days * DAY * 1000).toISOString().slice(0, 10);
    expect((await noticesOf(alice)).map(({ message }) => message)).toContain(
      texts.autopayDeclined({ amount: "$9.00", why: await reasonOf(alice), on }).text,
    );
    later(days * DAY - 60);
    await world.chargeJob();
    attempts.push((await chargesOf(alice)).length);
    later(60);
    await world.chargeJob();
    attempts.push((await chargesOf(alice)).length);
  }
  expect(attempts).toEqual([1, 2, 2, 3, 3, 4]);
  expect((await noticesOf(alice)).map(({ message }) => message)).toContain(
    texts.autopayGivenUp({ amount: "$9.00", why: await reasonOf(alice) }).text,
  );

  later(30 * DAY);
  await world.chargeJob();
  expect(await chargesOf(alice)).toHaveLength(4);
  expect(world.fake.charged().filter(({ cents }) => cents === 900)).toEqual([]);
});

test("a new default card is tried at once, and a first card is charged for an open invoice", async () => {
  const alice = await world.payer(EMPTY_CARD, GOOD_CARD);
  await invoice(alice, 9_000_000);
  await world.chargeJob();
  const [empty, good] = (await alice.get<{ data: { id: number }[] }>("/v4/account/payment-methods")).body.data;
  // Making the default the default again is no change.
  await alice.post(`/v4/account/payment-methods/${empty?.id}/make-default`);
  await world.chargeJob();
  expect(await chargesOf(alice)).toHaveLength(1);
  await alice.post(`/v4/account/payment-methods/${good?.id}/make-default`);
  await world.chargeJob();
  expect(await balanceOf(alice)).toBe(0);

  const bob = await world.customer();
  await bob.put("/v4/account", { zip: "10115", country: "DE" });
  await invoice(bob, 8_000_000);
  await world.chargeJob();
  await world.addCard(bob, GOOD_CARD);
  await world.chargeJob();
  expect(await balanceOf(bob)).toBe(0);
});

test("an amount below the provider's minimum waits for the next invoice", async () => {
  const alice = await world.payer();
  await invoice(alice, 490_000);
  await world.chargeJob();
  expect(await chargesOf(alice)).toEqual([]);

  await invoice(alice, 510_000);
  await world.chargeJob();
  expect((await chargesOf(alice)).map(({ amount_micros }) => amount_micros)).toEqual([1_000_000]);
});

test("after a decline, paying the balance ends the retries and the notification", async () => {
  const alice = await world.payer(EMPTY_CARD, GOOD_CARD);
  await invoice(alice, 9_000_000);
  await world.chargeJob();
  const methods = await alice.get<{ data: { id: number }[] }>("/v4/account/payment-methods");

  const paid = await alice.post("/v4/account/payments", { usd: "9.00", payment_method_id: methods.body.data[1]?.id });

  expect(paid.status).toBe(200);
  expect(await noticesOf(alice)).toEqual([]);
  later(8 * DAY);
  await world.chargeJob();
  expect(await chargesOf(alice)).toHaveLength(2);
});

test("an account that is paying when its invoice is created is charged the rest afterwards", async () => {
  const alice = await world.payer();
  world.fake.fail("error after");
  expect((await alice.post("/v4/account/payments", { usd: "5.00" })).status).toBe(503);
  await invoice(alice, 9_000_000);

  await world.chargeJob();
  later(120);
  await world.chargeJob();
  later(120);
  await world.chargeJob();

  expect((await chargesOf(alice)).map(({ amount_micros }) => amount_micros)).toEqual([5_000_000, 4_000_000]);
  expect(await balanceOf(alice)).toBe(0);
});

test("while the provider is down nothing is charged twice, and charges are made up for afterwards", async () => {
  const payers = await Promise.all(Array.from({ length: 12 }, () => world.payer()));
  for (const payer of payers) await invoice(payer, 8_010_000);
  world.fake.fail("break after", { times: 4 });
  world.fake.fail("break before", { times: 4 });

  await world.chargeJob();
  for (let round = 0; round < 4; round++) {
    later(3600);
    await world.chargeJob();
  }

  expect(await Promise.all(payers.map(balanceOf))).toEqual(payers.map(() => 0));
  expect(world.fake.charged().filter(({ cents }) => cents === 801)).toHaveLength(12);
});

test("an account that was closed after its invoice is not charged", async () => {
  const alice = await world.payer();
  await invoice(alice, 7_770_000);
  await world.db
    .updateTable("accounts")
    .set({ closed_at: world.time.now, data_until: world.time.now })
    .where("id", "=", alice.accountId)
    .execute();

  await world.chargeJob();

  expect(await chargesOf(alice)).toEqual([]);
  expect(world.fake.charged().filter(({ cents }) => cents === 777)).toEqual([]);
});
