import type { PaymentMethod } from "@moorage/contract";
import { expect, test } from "vitest";
import { type CardVault, Declined, OutcomeUnknown } from "#payment-provider/index.ts";
import { newWorld, type World, type WorldSettings } from "#testing/world.ts";
import { texts } from "./texts.ts";

const METHODS = "/v4/account/payment-methods";
const CREDIT_CARD = "/v4/account/credit-card";
const visa = { card_number: "4242424242424242", cvv: "123", expiry_month: 12, expiry_year: 2049 };
const mastercard = { ...visa, card_number: "5555555555554444" };
const asMethod = (data: object, is_default = false) => ({ type: "credit_card", is_default, data });
const DECLINED = { code: "card.declined", text: "The card was declined." };

type Customer = Awaited<ReturnType<World["customer"]>>;

async function customerWithZip(settings: WorldSettings = {}, address: object = { country: "US", zip: "10001" }) {
  const world = await newWorld(settings);
  const alice = await world.customer();
  await world.db.updateTable("accounts").set(address).where("id", "=", alice.accountId).execute();
  return { world, alice, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const methodsOf = async (who: Customer) => (await who.get<{ data: PaymentMethod[] }>(METHODS)).body.data;
const attemptsOf = (world: World) => world.db.selectFrom("card_attempts").selectAll().orderBy("id").execute();
const send = (world: World, who: { token: string }, path: string, body: object, headers: object = {}) =>
  world.send({
    method: "POST",
    url: path,
    headers: { authorization: `Bearer ${who.token}`, "content-type": "application/json", ...headers },
    payload: JSON.stringify(body),
  });

/** Counts its calls, and answers as configured. */
function vaultThat(answer: (n: number) => Error | undefined) {
  const keys: string[] = [];
  const vault: CardVault = {
    async keep(card, { accountUuid, customer }, key) {
      keys.push(key);
      const error = answer(keys.length);
      if (error !== undefined) throw error;
      return {
        customer: customer ?? `cus ${accountUuid}`,
        token: `token of ${key}`,
        cardType: "Visa",
        lastFour: card.card_number.slice(-4),
        expiryMonth: card.expiry_month,
        expiryYear: card.expiry_year,
      };
    },
  };
  return { vault, keys };
}

test("a card is added, shown without its number, and reported by an event", async () => {
  await using one = await customerWithZip();
  const { world, alice } = one;

  const reply = await alice.post(METHODS, asMethod(visa));

  expect(reply).toMatchObject({ status: 200, body: {} });
  expect(await methodsOf(alice)).toEqual([
    {
      id: expect.any(Number),
      created: expect.any(String),
      is_default: true,
      type: "credit_card",
      data: { card_type: "Visa", expiry: "12/2049", last_four: "4242" },
    },
  ]);
  expect(await world.events()).toMatchObject([
    { action: "payment_method_add", status: "notification", entity_type: "account", username: alice.username },
  ]);
  expect((await world.audit()).map(({ action }) => action)).toContain("add_payment_method");
  expect((await world.account(alice.accountId)).provider_customer).toMatch(/^cus_/);
});

test("the answer has the headers of every other operation, and the caller is checked before the body", async () => {
  await using one = await customerWithZip();
  const { world, alice } = one;
  const stranger = await world.customer({ scopes: ["account:read_only"] });
  const clerk = await world.colleague(alice.accountId, { restricted: true });
  const broken = asMethod({ card_number: "1" });

  const good = await send(world, alice, METHODS, asMethod(visa));
  expect(good.headers).toMatchObject({
    "content-type": "application/json",
    "x-oauth-scopes": "*",
    "x-accepted-oauth-scopes": "account:read_write",
    "x-ratelimit-limit": "400",
    "x-spec-version": "4.174.0",
    "cache-control": "no-store",
    "x-customer-uuid": (await world.account(alice.accountId)).euuid,
  });
  expect((await world.anonymous.post(METHODS, broken)).status).toBe(401);
  expect((await stranger.post(METHODS, broken)).status).toBe(401);
  expect(await clerk.post(METHODS, broken)).toMatchObject({
    status: 403,
    body: { errors: [{ reason: expect.stringContaining("account_write") }] },
  });
  expect((await alice.post(METHODS, broken)).status).toBe(400);
});

test("every fault of a body is reported by field, without repeating the value", async () => {
  await using one = await customerWithZip();
  const { alice } = one;
  const faultsOf = async (path: string, body: unknown) => {
    const { status, body: reply } = await alice.post<{ errors: { field?: string; reason: string }[] }>(path, body);
    expect(status).toBe(400);
    expect(JSON.stringify(reply)).not.toMatch(/\d{5}/);
    return reply.errors.map(({ field }) => field);
  };

  expect(await faultsOf(METHODS, {})).toEqual(["type", "is_default", "data"]);
  expect(await faultsOf(METHODS, { ...asMethod(visa), type: "paypal", is_default: "yes" })).toEqual([
    "type",
    "is_default",
  ]);
  expect(
    await faultsOf(METHODS, asMethod({ ...visa, card_number: "4242424242424241", cvv: "1234", expiry_year: 2020 })),
  ).toEqual(["data.card_number", "data.cvv", "data.expiry_year"]);
  expect(await faultsOf(METHODS, { ...asMethod({ ...visa, card_number: "4242424242424241" }), is_default: 1 })).toEqual(
    ["is_default", "data.card_number"],
  );
  expect(await faultsOf(CREDIT_CARD, { ...visa, card_number: 4242424242424242, expiry_month: 0 })).toEqual([
    "card_number",
    "expiry_month",
  ]);
  for (const body of [[], "4242424242424242", 7, null, [visa]]) await faultsOf(METHODS, body);
});

test("a key that contains the card number is refused, because keys are stored", async () => {
  await using one = await customerWithZip();
  const { world, alice } = one;

  const reply = await send(world, alice, METHODS, asMethod(visa), { "idempotency-key": `add ${visa.card_number}` });

  expect(reply.statusCode).toBe(400);
  expect(reply.json()).toMatchObject({ errors: [{ field: "Idempotency-Key" }] });
  expect(await world.db.selectFrom("idempotency_keys").selectAll().execute()).toEqual([]);
});

test.each([
  ["no zip", { country: "US", zip: "" }],
  ["a zip that is none in the US", { country: "US", zip: "SW1A 1AA" }],
])("%s: reported by its field, with how to set it", async (_what, address) => {
  const { vault, keys } = vaultThat(() => undefined);
  await using one = await customerWithZip({ vault }, address);
  const { alice } = one;

  for (const [path, body] of [
    [METHODS, asMethod(visa)],
    [CREDIT_CARD, visa],
  ] as const)
    expect(await alice.post(path, body)).toMatchObject({
      status: 400,
      body: { errors: [{ field: "zip", reason: expect.stringContaining("PUT /v4/account") }] },
    });
  expect(keys).toEqual([]);
});

test("the first card is the default; a later one only if requested, or by the older operation", async () => {
  await using one = await customerWithZip();
  const { world, alice } = one;
  const defaults = async () => (await methodsOf(alice)).map(({ is_default }) => is_default);

  await alice.post(METHODS, asMethod(visa, false));
  expect(await defaults()).toEqual([true]);
  await alice.post(METHODS, asMethod(mastercard, false));
  expect(await defaults()).toEqual([true, false]);
  await alice.post(METHODS, asMethod(visa, true));
  expect(await defaults()).toEqual([false, false, true]);
  expect(await alice.post(CREDIT_CARD, mastercard)).toMatchObject({ status: 200, body: {} });
  expect(await defaults()).toEqual([false, false, false, true]);
  expect((await world.events()).map(({ action }) => action)).toEqual([
    "payment_method_add",
    "payment_method_add",
    "payment_method_add",
    "credit_card_updated",
  ]);
});

test("a declined card is refused with a reason and counted, without further effect", async () => {
  await using one = await customerWithZip();
  const { world, alice } = one;

  const reply = await alice.post(METHODS, asMethod({ ...visa, card_number: "4000000000000002" }));

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ reason: expect.stringContaining("declined") }] } });
  expect(await methodsOf(alice)).toEqual([]);
  expect(await world.events()).toEqual([]);
  expect(await attemptsOf(world)).toMatchObject([{ outcome: "refused" }]);
});

test("a provider that does not answer is 503, and a retry with the same key adds the card once", async () => {
  const { vault, keys } = vaultThat((n) => (n === 1 ? new OutcomeUnknown("silent") : undefined));
  await using one = await customerWithZip({ vault });
  const { world, alice } = one;
  const again = () => send(world, alice, METHODS, asMethod(visa), { "idempotency-key": "k" });

  const lost = await again();
  expect(lost.statusCode).toBe(503);
  expect(lost.headers["retry-after"]).toBeDefined();
  expect(lost.json()).toMatchObject({ errors: [{ reason: texts.providerUnreachable().text }] });
  expect(await methodsOf(alice)).toEqual([]);
  expect((await again()).statusCode).toBe(200);
  expect((await again()).statusCode).toBe(200);

  expect(new Set(keys).size).toBe(1);
  expect(keys).toHaveLength(2);
  expect(await methodsOf(alice)).toHaveLength(1);
  expect(await attemptsOf(world)).toMatchObject([{ outcome: "added" }]);
});

test("twenty identical concurrent requests with one key: one card, one event, twenty equal answers", async () => {
  const { vault } = vaultThat(() => undefined);
  await using one = await customerWithZip({ vault });
  const { world, alice } = one;

  const replies = await Promise.all(
    Array.from({ length: 20 }, () => send(world, alice, METHODS, asMethod(visa), { "idempotency-key": "k" })),
  );

  expect(replies.map(({ statusCode, body }) => `${statusCode} ${body}`)).toEqual(Array(20).fill("200 {}"));
  expect(await methodsOf(alice)).toHaveLength(1);
  expect(await world.events()).toHaveLength(1);
});

test("a key cannot be used for another card; after a refusal it is free again", async () => {
  const { vault } = vaultThat((n) => (n === 1 ? new Declined(DECLINED) : undefined));
  await using one = await customerWithZip({ vault });
  const { world, alice } = one;
  const sendWith = (data: object) => send(world, alice, METHODS, asMethod(data), { "idempotency-key": "k" });

  expect((await sendWith(mastercard)).statusCode).toBe(400);
  expect((await sendWith(visa)).statusCode).toBe(200);
  const other = await sendWith(mastercard);
  expect(other.statusCode).toBe(400);
  expect(other.json()).toMatchObject({ errors: [{ field: "Idempotency-Key" }] });
});

test("the seventh card is refused before the provider gets it; of many at once six are kept", async () => {
  const { vault, keys } = vaultThat(() => undefined);
  await using one = await customerWithZip({ vault });
  const { world, alice } = one;

  const replies = await Promise.all(Array.from({ length: 12 }, () => alice.post(METHODS, asMethod(visa))));

  expect(replies.filter(({ status }) => status === 200)).toHaveLength(6);
  expect(await methodsOf(alice)).toHaveLength(6);
  // Cards beyond that are left for the provider to delete.
  const removed = await world.db
    .selectFrom("payment_methods")
    .selectAll()
    .where("deleted_at", "is not", null)
    .execute();
  expect(removed).toHaveLength(keys.length - 6);
  const requested = keys.length;
  expect(await alice.post(METHODS, asMethod(visa))).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("at most 6") }] },
  });
  expect(keys).toHaveLength(requested);
});

test("the limit per 24 hours covers both operations, and declined cards count too", async () => {
  let declines = false;
  const { vault } = vaultThat(() => (declines ? new Declined(DECLINED) : undefined));
  await using one = await customerWithZip({ vault, cardsPerDay: 3 });
  const { world, alice } = one;
  const add = () => alice.post(METHODS, asMethod(visa));
  const day = 24 * 3_600_000;

  await add();
  world.time.now = new Date(world.time.now.getTime() + 60_000);
  await alice.post(CREDIT_CARD, visa);
  await add();
  expect(await add()).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("24 hours") }] },
  });
  world.time.now = new Date(world.time.now.getTime() + day - 60_000 - 1);
  expect((await add()).status).toBe(400);
  world.time.now = new Date(world.time.now.getTime() + 1);
  expect((await add()).status).toBe(200);

  declines = true;
  world.time.now = new Date(world.time.now.getTime() + day);
  const replies = [];
  for (let n = 0; n < 4; n++) replies.push(JSON.stringify((await add()).body));
  expect(replies.slice(0, 3).every((reply) => reply.includes(DECLINED.text))).toBe(true);
  expect(replies[3]).toContain("3 cards");
});

test("a token that was revoked while the provider was called adds nothing", async () => {
  let revoke = async (): Promise<unknown> => undefined;
  const { vault } = vaultThat(() => undefined);
  const slow: CardVault = { keep: async (...requested) => (await revoke(), vault.keep(...requested)) };
  await using one = await customerWithZip({ vault: slow });
  const { world, alice } = one;
  revoke = () => world.db.updateTable("tokens").set({ revoked_at: world.time.now }).execute();

  expect((await alice.post(METHODS, asMethod(visa))).status).toBe(401);
  expect(await world.db.selectFrom("payment_methods").selectAll().execute()).toEqual([]);
});

test("where raw cards are off, both operations answer where a card can be added", async () => {
  const { vault, keys } = vaultThat(() => undefined);
  await using one = await customerWithZip({ vault, cardsRaw: false });
  const { world, alice } = one;

  for (const [path, body] of [
    [METHODS, asMethod(visa)],
    [CREDIT_CARD, visa],
  ] as const)
    expect(await alice.post(path, body)).toMatchObject({
      status: 403,
      body: { errors: [{ reason: expect.stringContaining("POST /v4/account/payment-methods/link") }] },
    });
  expect((await world.anonymous.post(METHODS, asMethod(visa))).status).toBe(401);
  expect(keys).toEqual([]);
});

test("without a payment provider no card is accepted", async () => {
  await using one = await customerWithZip({ provider: "none" });

  expect((await one.alice.post(METHODS, asMethod(visa))).status).toBe(400);
});

test("a payment may contain the card's code, which is not passed on", async () => {
  await using one = await customerWithZip();
  const { alice } = one;
  await alice.post(METHODS, asMethod(visa));

  expect(await alice.post("/v4/account/payments", { usd: "$120.50", cvv: "123" })).toMatchObject({
    status: 200,
    body: { usd: 120.5 },
  });
  for (const body of [[], "123", 7]) expect((await alice.post("/v4/account/payments", body)).status).toBe(400);
});
