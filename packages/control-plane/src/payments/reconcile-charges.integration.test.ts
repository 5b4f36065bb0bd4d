/**
 * After PostgreSQL was set back to an earlier time, nothing is charged until every charge that the provider made is in
 * the ledger. MOORAGE_TRIALS sets how many charges the last test makes (default 12), two for each time that it sets
 * PostgreSQL back; MOORAGE_SEED sets where it begins.
 */
import { createRandom, type Random } from "@moorage/testkit/random.ts";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { verifyLedger } from "#billing/index.ts";
import { createEventPartitionsJob } from "#events/index.ts";
import type { ChargeProvider } from "#payment-provider/index.ts";
import { copyOf } from "#testing/copy-of.ts";
import { owe } from "#testing/owe.ts";
import { GOOD_CARD, newPayingWorld, type PayingWorld } from "#testing/paying-world.ts";
import { pursueCharge } from "./index.ts";
import { texts } from "./texts.ts";

const TRIALS = Number(process.env["MOORAGE_TRIALS"] ?? 12);
const SEED = Number(process.env["MOORAGE_SEED"] ?? 1);
const PAYMENTS = "/v4/account/payments";

let world: PayingWorld;
/** What the next charge waits for on its way to the provider. */
let underWay: (() => Promise<void>) | undefined;
beforeEach(async () => {
  underWay = undefined;
  const around = (provider: ChargeProvider): ChargeProvider => ({
    ...provider,
    async charge(...asked) {
      const wait = underWay;
      underWay = undefined;
      await wait?.();
      return provider.charge(...asked);
    },
  });
  // Without a host a new server is proven at once.
  world = await newPayingWorld({ withoutHosts: true, around });
});
afterEach(() => world[Symbol.asyncDispose]());

type Payer = Awaited<ReturnType<PayingWorld["payer"]>>;

const later = (seconds: number): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};
const balanceOf = async ({ get }: Payer) => (await get<{ balance: number }>("/v4/account")).body.balance;
const chargesOf = ({ accountId }: Payer) =>
  world.db.selectFrom("charges").selectAll().where("account_id", "=", accountId).orderBy("id").execute();
const chargedTo = async ({ accountId }: Payer) => {
  const { euuid } = await world.account(accountId);
  return world.fake.charged().filter(({ account }) => account === euuid);
};
const paymentsOf = async ({ get }: Payer) => (await get<{ data: { usd: number }[] }>(PAYMENTS)).body.data;
const auditOf = (action: string) =>
  world.db.selectFrom("audit").selectAll().where("action", "=", action).orderBy("id").execute();
const payWithKey = ({ token }: Payer, usd: string) =>
  world.send({
    method: "POST",
    url: PAYMENTS,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": "the one" },
    payload: JSON.stringify({ usd }),
  });

const invoice = ({ accountId }: Payer, cents: number): Promise<void> => owe(world, accountId, cents * 10_000);

/** The server after a restore is noticed, and the ids that may have been assigned are skipped. */
const copy = async () => {
  const setBack = await copyOf(world.db);
  return async () => {
    // The provider's events were accepted, so that it sends them no more.
    await world.deliverAll();
    await setBack();
    await sql`drop schema copy cascade`.execute(world.db);
    await world.run("proveCurrent");
  };
};
/** What the worker does in each round. */
const round = async () => {
  await world.run("proveCurrent");
  await world.run("reconcileCharges");
  await world.chargeJob();
};
const untilCurrent = async () => {
  later(120);
  await round();
};

test("a debt that was paid in the lost time is not charged again", async () => {
  const alice = await world.payer();
  await invoice(alice, 1234);
  const setBack = await copy();
  await world.chargeJob();
  expect(await chargedTo(alice)).toHaveLength(1);
  await setBack();
  expect(await balanceOf(alice)).toBe(12.34);

  await round();
  expect(await alice.post(PAYMENTS, { usd: "12.34" })).toMatchObject({
    status: 503,
    body: { errors: [{ reason: texts.chargesNotComparedYet().text }] },
  });
  expect(await alice.post("/v4/account/cancel", {})).toMatchObject({ status: 503 });
  expect(await chargesOf(alice)).toEqual([]);
  await untilCurrent();
  later(86_400);
  await round();

  expect(await balanceOf(alice)).toBe(0);
  expect(await chargedTo(alice)).toHaveLength(1);
  expect(await chargesOf(alice)).toMatchObject([{ status: "succeeded", amount_micros: 12_340_000 }]);
  expect((await verifyLedger(world.db)).faults.filter(({ fault }) => fault.startsWith("payments"))).toEqual([]);
  expect((await alice.post(PAYMENTS, { usd: "5.00" })).status).toBe(200);
});

test("a pending charge, and a removed card, wait for the comparison, and the charge is made once", async () => {
  const alice = await world.payer(GOOD_CARD, "5555555555554444");
  const second = await world.db
    .selectFrom("payment_methods")
    .selectAll()
    .orderBy("id", "desc")
    .executeTakeFirstOrThrow();
  world.fake.fail("break before", { path: "POST /v1/payment_methods", times: 2 });
  await alice.delete(`/v4/account/payment-methods/${second.id}`);
  await invoice(alice, 1234);
  world.fake.fail("break before");
  await world.chargeJob();
  const setBack = await copy();
  later(60);
  await world.chargeJob();
  expect(await chargedTo(alice)).toHaveLength(1);
  await setBack();
  const calls = world.fake.calls.length;

  later(60);
  await round();
  const [pending] = await chargesOf(alice);
  expect(await pursueCharge(world.chargeDeps, pending?.id ?? 0)).toBe("unknown");
  expect(world.fake.calls.slice(calls)).toEqual([]);
  await untilCurrent();

  expect(await chargedTo(alice)).toHaveLength(1);
  expect(await balanceOf(alice)).toBe(0);
  expect(world.fake.ledger.isAttached(second.provider_token)).toBe(false);
});

test("a charge of which a day-old copy has only the intent is looked for, and not given up", async () => {
  const alice = await world.payer();
  await invoice(alice, 1234);
  // The process dies after the first commit.
  await sql`create function die() returns trigger language plpgsql as $$
    begin
      raise exception 'died';
    end $$`.execute(world.db);
  await sql`create trigger die before update of attempts on charges for each row execute function die()`.execute(
    world.db,
  );
  await world.chargeJob();
  await sql`drop trigger die on charges`.execute(world.db);
  expect(await chargesOf(alice)).toMatchObject([{ status: "pending", attempts: 0 }]);
  const setBack = await copy();
  // A charge that failed is put off for a minute.
  later(60);
  await world.chargeJob();
  expect(await chargedTo(alice)).toHaveLength(1);
  later(2 * 86_400);
  await setBack();

  await untilCurrent();

  expect(await chargesOf(alice)).toMatchObject([{ status: "succeeded" }]);
  expect(await balanceOf(alice)).toBe(0);
});

test("a payment of the lost time is credited once, however often charges are compared", async () => {
  const alice = await world.payer();
  const setBack = await copy();
  expect((await alice.post(PAYMENTS, { usd: "20.00" })).status).toBe(200);
  await setBack();
  await untilCurrent();
  for (let times = 0; times < 2; times++) {
    await sql`update installation set charges_fingerprint = 'another server'`.execute(world.db);
    await Promise.all([world.run("reconcileCharges"), world.run("reconcileCharges")]);
  }

  expect(await balanceOf(alice)).toBe(-20);
  expect(await paymentsOf(alice)).toMatchObject([{ usd: 20 }]);
  expect(await auditOf("restore_charge")).toHaveLength(1);
  expect((await alice.post(PAYMENTS, { usd: "5.00" })).status).toBe(200);
});

test("a payment of the lost time is credited although an earlier one is pending in the copy", async () => {
  const alice = await world.payer();
  world.fake.fail("break after");
  expect((await alice.post(PAYMENTS, { usd: "20.00" })).status).toBe(503);
  const setBack = await copy();
  later(60);
  await world.chargeJob();
  expect((await alice.post(PAYMENTS, { usd: "30.00" })).status).toBe(200);
  await setBack();

  await untilCurrent();

  expect(await balanceOf(alice)).toBe(-50);
  expect(await auditOf("restore_charge")).toHaveLength(1);
  expect(await chargedTo(alice)).toHaveLength(2);
});

test("a repeated request whose charge and Idempotency-Key were lost gets the payment, and charges nothing", async () => {
  const alice = await world.payer();
  const setBack = await copy();
  expect((await payWithKey(alice, "20.00")).statusCode).toBe(200);
  await setBack();

  expect((await payWithKey(alice, "20.00")).statusCode).toBe(503);
  await untilCurrent();

  const repeated = await payWithKey(alice, "20.00");
  expect(repeated.statusCode).toBe(200);
  expect(repeated.json()).toMatchObject({ usd: 20 });
  expect((await payWithKey(alice, "21.00")).statusCode).toBe(400);
  expect(await chargedTo(alice)).toHaveLength(1);
  expect(await balanceOf(alice)).toBe(-20);
});

test("refunds of the lost time are owed again", async () => {
  const alice = await world.payer();
  await alice.post(PAYMENTS, { usd: "30.00" });
  const setBack = await copy();
  await alice.post(PAYMENTS, { usd: "20.00" });
  const [before, lost] = await chargedTo(alice);
  world.fake.refund(before?.providerId ?? "", 700);
  world.fake.refund(lost?.providerId ?? "", 400);
  await setBack();

  await untilCurrent();

  expect(await balanceOf(alice)).toBe(-39);
});

test("a debt that was paid with a card of the lost time is not charged to the next card", async () => {
  const alice = await world.customer();
  await alice.put("/v4/account", { zip: "10115", country: "DE" });
  await invoice(alice, 1234);
  const setBack = await copy();
  await world.addCard(alice, GOOD_CARD);
  await world.chargeJob();
  expect(await chargedTo(alice)).toHaveLength(1);
  await setBack();

  await untilCurrent();
  expect(await balanceOf(alice)).toBe(0);
  expect(await alice.get("/v4/account/payment-methods")).toMatchObject({ body: { data: [] } });
  await world.addCard(alice, GOOD_CARD);
  later(60);
  await round();

  expect(await chargedTo(alice)).toHaveLength(1);
});

test("a charge of an account that was lost is reported to the operator, once, and stops no other", async () => {
  const alice = await world.payer();
  const setBack = await copy();
  const bob = await world.payer();
  const { euuid } = await world.account(bob.accountId);
  await bob.post(PAYMENTS, { usd: "7.00" });
  later(1);
  await alice.post(PAYMENTS, { usd: "20.00" });
  await setBack();

  await untilCurrent();
  await sql`update installation set charges_fingerprint = 'another server'`.execute(world.db);
  await untilCurrent();

  expect(await balanceOf(alice)).toBe(-20);
  expect(await auditOf("unknown_charge")).toMatchObject([
    { account_id: null, actor: "moorage", detail: { account: euuid, cents: 700 } },
  ]);
  expect((await alice.post(PAYMENTS, { usd: "5.00" })).status).toBe(200);
});

test("while the provider is down nothing is charged, and afterwards everything goes on", async () => {
  const [alice, bob] = [await world.payer(), await world.payer()];
  await invoice(alice, 1234);
  await invoice(bob, 2000);
  await world.db.updateTable("autopay").set({ due_at: null }).where("account_id", "=", bob.accountId).execute();
  const setBack = await copy();
  await world.chargeJob();
  await setBack();
  await world.db.updateTable("autopay").set({ due_at: world.time.now }).execute();
  world.fake.fail("break before", { path: "GET /v1/payment_intents", times: 1000 });
  later(120);
  await world.run("proveCurrent");

  await expect(world.run("reconcileCharges")).rejects.toThrow("StripeConnectionError");
  await world.chargeJob();
  // Other work of the worker does not wait for it in each round.
  const calls = world.fake.calls.length;
  await round();
  expect(world.fake.calls.slice(calls)).toEqual([]);
  expect((await bob.post(PAYMENTS, { usd: "20.00" })).status).toBe(503);
  expect(world.fake.charged()).toHaveLength(1);

  world.fake.heal();
  await untilCurrent();
  expect([await balanceOf(alice), await balanceOf(bob)]).toEqual([0, 0]);
  expect([await chargedTo(alice), await chargedTo(bob)]).toMatchObject([[{ cents: 1234 }], [{ cents: 2000 }]]);
});

test("nothing is charged while the bank has not decided on a charge of the lost time", async () => {
  const alice = await world.payer();
  await invoice(alice, 1234);
  const setBack = await copy();
  await world.chargeJob();
  const providerId = (await chargedTo(alice))[0]?.providerId ?? "";
  world.fake.setStatus(providerId, "processing");
  await setBack();
  later(120);
  await world.run("proveCurrent");

  await expect(world.run("reconcileCharges")).rejects.toThrow(providerId);
  await world.chargeJob();
  expect(await chargesOf(alice)).toEqual([]);

  world.fake.setStatus(providerId, "succeeded");
  await untilCurrent();
  expect(await chargedTo(alice)).toHaveLength(1);
  expect(await balanceOf(alice)).toBe(0);
});

test("a charge that a process was making when the server changed is waited for", async () => {
  const alice = await world.payer();
  await invoice(alice, 1234);
  const setBack = await copy();
  const [begun, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  underWay = () => {
    begun.resolve();
    return arrived.promise;
  };
  const job = world.chargeJob();
  await Promise.race([begun.promise, job]);
  await setBack();
  later(60);
  await round();
  await round();
  expect(await chargedTo(alice)).toEqual([]);
  expect(await chargesOf(alice)).toEqual([]);

  arrived.resolve();
  await job;
  await untilCurrent();
  expect(await chargedTo(alice)).toHaveLength(1);
  expect(await balanceOf(alice)).toBe(0);
});

test("a comparison that stops halfway is continued from the charges that it has not credited", async () => {
  const payers = [await world.payer(), await world.payer(), await world.payer()];
  const setBack = await copy();
  for (const payer of payers) {
    expect((await payer.post(PAYMENTS, { usd: "10.00" })).status).toBe(200);
    later(3 * 86_400);
    await createEventPartitionsJob(world)();
  }
  await setBack();
  await createEventPartitionsJob(world)();
  await sql`create function die() returns trigger language plpgsql as $$
    begin
      if (select count(*) from payments) >= 1 then raise exception 'died'; end if;
      return new;
    end $$`.execute(world.db);
  await sql`create trigger die before insert on payments for each row execute function die()`.execute(world.db);
  later(120);
  await world.run("proveCurrent");
  await expect(world.run("reconcileCharges")).rejects.toThrow("died");
  await sql`drop trigger die on payments`.execute(world.db);
  await sql`drop function die()`.execute(world.db);

  await untilCurrent();

  expect(await Promise.all(payers.map(balanceOf))).toEqual([-10, -10, -10]);
});

test(
  `${TRIALS} charges, and PostgreSQL set back after each two: one charge per debt, and both sides agree`,
  async () => {
    const random = createRandom(SEED * 100_003);
    const debts: Debt[] = [];
    const tally = { lost: 0, setBacks: 0 };
    while (debts.length < TRIALS) {
      // What an account owes is in every copy: only charges are lost.
      const both = [await newDebt(random), await newDebt(random)];
      debts.push(...both);
      if (random.chance(0.8)) {
        tally.setBacks++;
        tally.lost += await chargeAndSetBack(random, both);
      } else await chargeOrPay(random, both);
      for (let rounds = random.below(4); rounds > 0; rounds--) {
        later(random.below(100));
        await round().catch(() => {});
      }
      world.fake.heal();
      await untilCurrent();
    }
    // An error that the provider stored under a key is waited out for 20 hours; a day later the debt is charged again.
    for (let rounds = 0; rounds < 60; rounds++) {
      later(3600);
      await round();
    }

    console.log(`${debts.length} debts, ${tally.setBacks} set-backs, ${tally.lost} charges lost and found`);
    expect((await Promise.all(debts.map(faultsOf))).flat()).toEqual([]);
    const { here } = await world.db
      .selectFrom("ledger")
      .select(sql<number>`coalesce(sum(cash_micros), 0) / 10000`.as("here"))
      .executeTakeFirstOrThrow();
    expect(here).toBe(world.fake.charged().reduce((sum, { cents }) => sum + cents, 0));
    expect(tally.lost).toBeGreaterThan(0);
  },
  120_000 + TRIALS * 60_000,
);
const faults = ["break before", "break after", "error before", "error after"] as const;

type Debt = { payer: Payer; cents: number };

async function newDebt(random: Random): Promise<Debt> {
  const debt = { payer: await world.payer(), cents: 500 + random.below(100_000) };
  await invoice(debt.payer, debt.cents);
  return debt;
}

/** How many charges were lost. */
async function chargeAndSetBack(random: Random, debts: Debt[]): Promise<number> {
  if (random.chance(0.5)) {
    // A charge that is pending, or made, is in the copy.
    world.fake.fail(random.oneOf(faults));
    await world.chargeJob();
  }
  const setBack = await copy();
  const before = world.fake.charged().length;
  await chargeOrPay(random, debts);
  await setBack();
  if (random.chance(0.3)) world.fake.fail("break before", { path: "GET /v1/payment_intents", times: 2 });
  return world.fake.charged().length - before;
}

async function chargeOrPay(random: Random, debts: Debt[]): Promise<void> {
  if (random.chance(0.4)) world.fake.fail(random.oneOf(faults));
  for (const { payer } of debts) {
    const balance = await balanceOf(payer);
    if (balance > 0 && random.chance(0.3)) await payer.post(PAYMENTS, { usd: balance.toFixed(2) });
  }
  await world.chargeJob();
  if (random.chance(0.5)) return;
  later(random.below(1800));
  await world.chargeJob();
}

async function faultsOf({ payer, cents }: Debt): Promise<string[]> {
  const there = (await chargedTo(payer)).map((each) => each.cents);
  const balance = await balanceOf(payer);
  if (there.length === 1 && there[0] === cents && balance === 0) return [];
  return [`owed ${cents} cents, was charged ${there.join(" and ")}, has a balance of $${balance}`];
}
