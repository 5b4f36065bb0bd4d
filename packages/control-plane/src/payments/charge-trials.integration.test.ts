/**
 * Money is charged exactly once. Each trial is one payment with a fault chosen by its number: the provider closes the
 * connection, does not answer, answers with an error or is slow, before or after charging; our process dies before the
 * call, after it, or while settling; the same request comes 50 times at once; the provider's events arrive twice, late,
 * in another order, or never; refunds are made meanwhile. Then the provider's records and ours are compared.
 *
 * MOORAGE_TRIALS sets how many (default 16), MOORAGE_SEED where they begin.
 */
import type { FakeFault } from "@moorage/testkit/fake-payment-provider.ts";
import type { FakeEvent } from "@moorage/testkit/fake-payment-wire.ts";
import { createRandom, type Random } from "@moorage/testkit/random.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyLedger } from "#billing/index.ts";
import { createEventPartitionsJob } from "#events/index.ts";
import type { ChargeProvider } from "#payment-provider/index.ts";
import { owe } from "#testing/owe.ts";
import { EMPTY_CARD, GOOD_CARD, newPayingWorld, type PayingWorld } from "#testing/paying-world.ts";

const TRIALS = Number(process.env["MOORAGE_TRIALS"] ?? 16);
const SEED = Number(process.env["MOORAGE_SEED"] ?? 1);

type Payer = Awaited<ReturnType<PayingWorld["payer"]>>;
type Death = "before asking" | "after asking" | "while settling";

let world: PayingWorld;
/** The fault of the next call to the provider, or of the next settlement. */
const next: { death?: Death | undefined; chargeMs: number } = { chargeMs: 0 };
/** Time runs two hundred times as fast, so that waits end within the trial. */
let ticking: NodeJS.Timeout;

beforeAll(async () => {
  world = await newPayingWorld({ timeoutMs: 400, chargeMs: () => next.chargeMs, around: mortal });
  await sql`create table deaths (n integer)`.execute(world.db);
  await sql`
    create function die() returns trigger language plpgsql as $$
    begin
      if exists (select from deaths) then raise exception 'died'; end if;
      return new;
    end $$`.execute(world.db);
  await sql`create trigger die before insert on payments for each row execute function die()`.execute(world.db);
  ticking = setInterval(() => later(4), 20);
});
afterAll(async () => {
  clearInterval(ticking);
  await world[Symbol.asyncDispose]();
});

const later = (seconds: number): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};

/** A dying process sends nothing and writes nothing; to its caller that is an unexpected error. */
const mortal = (provider: ChargeProvider): ChargeProvider => ({
  ...provider,
  async charge(charge, key) {
    const death = takeDeath("before asking", "after asking");
    if (death === "before asking") throw new Error("died before asking");
    const charged = await provider.charge(charge, key);
    if (death === "after asking") throw new Error("died after asking");
    return charged;
  },
});

function takeDeath(...kinds: Death[]): Death | undefined {
  const { death } = next;
  if (death === undefined || !kinds.includes(death)) return undefined;
  next.death = undefined;
  return death;
}

test(
  `${TRIALS} payments, each with a fault: none is charged twice, none is lost, and both sides agree`,
  async () => {
    const tally = { charged: 0, declined: 0, refunded: 0, requests: 0, events: 0, wrong: [] as string[] };
    const struck = new Map<string, number>();
    // The trials cover weeks.
    const makePartitions = createEventPartitionsJob(world);
    for (let n = 0; n < TRIALS; n++) {
      const random = createRandom(SEED * 100_003 + n);
      await makePartitions();
      const { account, how } = await trial(random, tally);
      struck.set(how, (struck.get(how) ?? 0) + 1);
      for (const wrong of await compare(account)) tally.wrong.push(`trial ${n} (${how}): ${wrong}`);
    }
    const all = await compareAll();
    const { faults } = await verifyLedger(world.db);
    const ours = faults.filter(({ fault }) => !fault.startsWith("invoice"));

    console.log(
      `${TRIALS} trials: ${tally.charged} charged, ${tally.declined} declined, ${tally.refunded} refunds, ` +
        `${tally.requests} requests, ${tally.events} events delivered, ${tally.wrong.length} wrong`,
    );
    console.log(
      [...struck]
        .map(([how, times]) => `  ${how}: ${times}`)
        .sort()
        .join("\n"),
    );
    expect(tally.wrong).toEqual([]);
    expect(all.here).toBe(all.there);
    expect(ours).toEqual([]);
  },
  60_000 + TRIALS * 100_000,
);

const faults: (FakeFault | undefined)[] = [
  ...([undefined, undefined, "break before", "break after", "silent before", "silent after"] as const),
  ...(["error before", "error after"] as const),
];
const deaths: (Death | undefined)[] = [undefined, undefined, "before asking", "after asking", "while settling"];

type Tally = { charged: number; declined: number; refunded: number; requests: number; events: number };

async function trial(random: Random, tally: Tally): Promise<{ account: Payer; how: string }> {
  const card = random.chance(0.1) ? EMPTY_CARD : GOOD_CARD;
  const account = await world.payer(card);
  const fault = random.oneOf(faults);
  next.death = random.oneOf(deaths);
  next.chargeMs = random.chance(0.3) ? random.below(700) : 0;
  const how = `${fault ?? "no fault"}, ${next.death === undefined ? "no death" : `death ${next.death}`}`;
  world.fake.takeEvents();
  if (fault !== undefined) world.fake.fail(fault);
  if (random.chance(0.2)) world.fake.fail(random.oneOf(["break before", "error before"]), { path: "GET /v1" });
  if (next.death === "while settling") await sql`insert into deaths values (1)`.execute(world.db);

  const provider = deliveringEvents(random, tally);
  const isInvoice = random.chance(0.25);
  const cents = 500 + random.below(100_000);
  if (isInvoice) await invoice(account, cents);
  else await pay(account, cents, random, tally);
  await Promise.all([world.chargeJob(), world.chargeJob()]);
  await sql`delete from deaths`.execute(world.db);
  next.chargeMs = 0;
  if (random.chance(0.3)) tally.refunded += await refund(account, random);
  await untilSettled(account);
  await provider.end();
  if (!isInvoice && random.chance(0.5)) await pay(account, cents, random, tally);

  next.death = undefined;
  world.fake.heal();
  const [charge] = await chargesOf(account);
  if (charge?.status === "succeeded") tally.charged++;
  else tally.declined++;
  return { account, how };
}

/** The same request, once or 50 times at once, always with the same key. The answers do not matter here. */
async function pay({ token }: Payer, cents: number, random: Random, tally: Tally): Promise<void> {
  const times = random.chance(0.3) ? 50 : 1 + random.below(3);
  tally.requests += times;
  const replies = await Promise.all(
    Array.from({ length: times }, () =>
      world.send({
        method: "POST",
        url: "/v4/account/payments",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": "the one" },
        payload: JSON.stringify({ usd: (cents / 100).toFixed(2) }),
      }),
    ),
  );
  const paid = new Set(replies.filter(({ statusCode }) => statusCode === 200).map(({ payload }) => payload));
  if (paid.size > 1) throw new Error(`one key was answered with ${[...paid].join(" and ")}`);
}

const invoice = ({ accountId }: Payer, cents: number): Promise<void> => owe(world, accountId, cents * 10_000);

/** By somebody at the provider, in one or two parts. */
async function refund(payer: Payer, random: Random): Promise<number> {
  const [charge] = await chargedTo(payer);
  if (charge === undefined) return 0;
  const parts = 1 + random.below(2);
  for (let part = 0; part < parts; part++) world.fake.refund(charge.providerId, 1 + random.below(charge.cents / 2));
  return parts;
}

/** Delivers the provider's events: now or late, in any order, some twice, until they are accepted; some never. */
function deliveringEvents(random: Random, tally: Tally) {
  const waiting: FakeEvent[] = [];
  const undeliveredShare = random.chance(0.3) ? 1 : 0.2;
  const collect = (): void => {
    for (const event of world.fake.takeEvents()) {
      // Only the provider knows of refunds: they are sent until they are accepted.
      if (event.type !== "charge.refunded" && random.chance(undeliveredShare)) continue;
      waiting.push(event, ...(random.chance(0.5) ? [event] : []));
    }
  };
  let ended = false;
  const deliverOne = async (): Promise<void> => {
    const [event] = waiting.splice(random.below(waiting.length), 1);
    if (event === undefined) return;
    tally.events++;
    if ((await world.deliver(event)) !== 200) waiting.push(event);
  };
  const delivering = (async () => {
    while (!ended) {
      collect();
      if (random.chance(0.3)) await deliverOne();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return {
    async end(): Promise<void> {
      ended = true;
      await delivering;
      collect();
      for (let left = 1000; waiting.length > 0; left--) {
        if (left === 0) throw new Error(`an event is never taken: ${waiting[0]?.type}`);
        await deliverOne();
      }
    },
  };
}

/** Runs the job as often as needed. An error 500 stored under a key is waited out, for up to a day. */
async function untilSettled(payer: Payer): Promise<void> {
  for (let round = 0; round < 60; round++) {
    const charges = await chargesOf(payer);
    const { count } = await world.db
      .selectFrom("autopay")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("account_id", "=", payer.accountId)
      .where("due_at", "<=", world.time.now)
      .executeTakeFirstOrThrow();
    if (charges.length > 0 && count === 0 && charges.every(({ status }) => status !== "pending")) return;
    await Promise.all([world.chargeJob(), world.chargeJob()]);
    later(1800);
  }
}

const chargesOf = ({ accountId }: Payer) =>
  world.db.selectFrom("charges").selectAll().where("account_id", "=", accountId).orderBy("id").execute();

async function chargedTo({ accountId }: Payer) {
  const { euuid } = await world.account(accountId);
  return world.fake.charged().filter(({ account }) => account === euuid);
}

/** Totals, including charges after an account's trial, such as a retry for an invoice. */
async function compareAll(): Promise<{ here: number; there: number }> {
  await sql`update autopay set due_at = null`.execute(world.db);
  for (let round = 0; round < 60; round++) {
    later(1800);
    await world.chargeJob();
  }
  for (const event of world.fake.takeEvents()) await world.deliver(event);
  const { here } = await world.db
    .selectFrom("ledger")
    .select(sql<number>`coalesce(sum(cash_micros), 0) / 10000`.as("here"))
    .executeTakeFirstOrThrow();
  const there = world.fake.charged().reduce((sum, { cents, refundedCents }) => sum + cents - refundedCents, 0);
  return { here, there };
}

/** Every way in which the two sides could differ. */
async function compare(payer: Payer): Promise<string[]> {
  const charges = await chargesOf(payer);
  const there = await chargedTo(payer);
  const of = { account_id: payer.accountId };
  const payments = await world.db
    .selectFrom("payments")
    .selectAll()
    .where((is) => is.and(of))
    .execute();
  const { cash } = await world.db
    .selectFrom("ledger")
    .select(sql<number>`coalesce(sum(cash_micros), 0)`.as("cash"))
    .where((is) => is.and(of))
    .executeTakeFirstOrThrow();
  const submitted = (await world.events()).filter(
    ({ account_id, action }) => account_id === payer.accountId && action === "payment_submitted",
  );
  const kept = there.reduce((sum, { cents, refundedCents }) => sum + cents - refundedCents, 0);
  const wrong: string[] = [];
  const check = (ok: boolean, fault: string): void => void (ok || wrong.push(fault));
  check(charges.length === 1, `${charges.length} charges for one intent`);
  for (const { id, status, amount_micros } of charges) {
    const made = there.filter(({ charge }) => charge === id);
    check(status !== "pending", `charge ${id} is never settled`);
    check(
      made.length === (status === "succeeded" ? 1 : 0),
      `charge ${id} is ${status}, and was made ${made.length} times`,
    );
    check(
      made.every(({ cents }) => cents * 10_000 === amount_micros),
      `charge ${id} has another amount there`,
    );
  }
  check(there.length === payments.length, `${there.length} charged there, ${payments.length} payments here`);
  check(submitted.length === payments.length, `${payments.length} payments, ${submitted.length} events`);
  check(cash === kept * 10_000, `${cash} in the ledger, ${kept} cents there`);
  return wrong;
}
