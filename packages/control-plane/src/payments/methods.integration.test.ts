import { afterAll, beforeAll, expect, test } from "vitest";
import { EMPTY_CARD, GOOD_CARD, newPayingWorld, type PayingWorld } from "#testing/paying-world.ts";
import { newWorld } from "#testing/world.ts";
import { texts } from "./texts.ts";

let world: PayingWorld;
beforeAll(async () => {
  world = await newPayingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Payer = Awaited<ReturnType<PayingWorld["payer"]>>;
const METHODS = "/v4/account/payment-methods";
const MASTERCARD = "5555555555554444";

const methodsOf = async ({ get }: Payer) =>
  (await get<{ data: { id: number; is_default: boolean; data: { last_four: string } }[] }>(METHODS)).body.data;
type Method = Awaited<ReturnType<typeof methodsOf>>[number];
const twoOf = async (payer: Payer) => (await methodsOf(payer)) as [Method, Method];
const tokenOf = async (id: number): Promise<string> =>
  (await world.db.selectFrom("payment_methods").select("provider_token").where("id", "=", id).executeTakeFirstOrThrow())
    .provider_token;

test("a method is listed and viewed without the card's number, at both of its paths", async () => {
  const alice = await world.payer(GOOD_CARD, MASTERCARD);

  const [first, second] = await twoOf(alice);

  const year = world.time.now.getFullYear() + 2;
  expect(first).toEqual({
    id: expect.any(Number),
    created: expect.any(String),
    is_default: true,
    type: "credit_card",
    data: { card_type: "Visa", expiry: `12/${year}`, last_four: "4242" },
  });
  expect(second).toMatchObject({ is_default: false, data: { card_type: "MasterCard", last_four: "4444" } });
  expect((await alice.get(`${METHODS}/${second.id}`)).body).toEqual(second);
  expect((await alice.get(`/v4/account/payment-method/${second.id}`)).body).toEqual(second);
});

test("there is always one default: making another the default takes it from the first", async () => {
  const alice = await world.payer(GOOD_CARD, MASTERCARD);
  const [, second] = await twoOf(alice);

  expect(await alice.post(`${METHODS}/${second.id}/make-default`)).toMatchObject({ status: 200, body: {} });

  expect((await methodsOf(alice)).map(({ is_default }) => is_default)).toEqual([false, true]);
  expect((await alice.get<{ credit_card: object }>("/v4/account")).body.credit_card).toMatchObject({
    last_four: "4444",
  });
  // The path that one of the clients uses.
  const [first] = await twoOf(alice);
  expect((await alice.post(`${METHODS}/${first.id}`)).status).toBe(200);
  expect((await methodsOf(alice)).map(({ is_default }) => is_default)).toEqual([true, false]);
});

test("two concurrent requests for different defaults leave one default", async () => {
  const alice = await world.payer(GOOD_CARD, MASTERCARD);
  const [first, second] = await twoOf(alice);

  const defaults = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? first : second).id);
  const replies = await Promise.all(defaults.map((id) => alice.post(`${METHODS}/${id}/make-default`)));

  expect(replies.map(({ status }) => status)).toEqual(defaults.map(() => 200));
  expect((await methodsOf(alice)).filter(({ is_default }) => is_default)).toHaveLength(1);
});

test("the default cannot be removed; another method is removed here and at the provider", async () => {
  const alice = await world.payer(GOOD_CARD, MASTERCARD);
  const [first, second] = await twoOf(alice);

  expect(await alice.delete(`${METHODS}/${first.id}`)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.methodIsDefault().text }] },
  });
  expect(await alice.delete(`${METHODS}/${second.id}`)).toMatchObject({ status: 200, body: {} });

  expect((await alice.get(`${METHODS}/${second.id}`)).status).toBe(404);
  expect(await methodsOf(alice)).toHaveLength(1);
  expect(world.fake.ledger.isAttached(await tokenOf(second.id))).toBe(false);
  expect((await alice.delete(`${METHODS}/${second.id}`)).status).toBe(404);
});

test("a card that could not be deleted at the provider is deleted by the job", async () => {
  const alice = await world.payer(GOOD_CARD, MASTERCARD);
  const [, second] = await twoOf(alice);
  world.fake.fail("break before", { path: "POST /v1/payment_methods" });

  expect((await alice.delete(`${METHODS}/${second.id}`)).status).toBe(200);
  const token = await tokenOf(second.id);
  expect(world.fake.ledger.isAttached(token)).toBe(true);

  await world.chargeJob();
  expect(world.fake.ledger.isAttached(token)).toBe(false);
});

test("a method cannot be removed while a payment is made with it", async () => {
  const alice = await world.payer(EMPTY_CARD, GOOD_CARD);
  const [, second] = await twoOf(alice);
  world.fake.fail("error after");
  await alice.post("/v4/account/payments", { usd: "10.00", payment_method_id: second.id });

  expect(await alice.delete(`${METHODS}/${second.id}`)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.inProgress({ amount: "$10.00" }).text }] },
  });
});

test("a card added on the provider's page becomes a method, once", async () => {
  const alice = await world.customer();
  await alice.put("/v4/account", { zip: "10115", country: "DE" });
  world.fake.takeEvents();

  const { status, body } = await alice.post<{ url: string }>(`${METHODS}/link`);
  expect(status).toBe(200);
  world.fake.completeCheckout(body.url, GOOD_CARD);
  const providerEvents = world.fake.takeEvents();
  for (const event of [...providerEvents, ...providerEvents]) expect(await world.deliver(event)).toBe(200);

  expect(await methodsOf(alice)).toMatchObject([{ is_default: true, data: { last_four: "4242" } }]);
  expect((await alice.post("/v4/account/payments", { usd: "10.00" })).status).toBe(200);
});

test("a link is refused if the account has no zip, or already has the maximum of methods", async () => {
  const alice = await world.customer();
  expect(await alice.post(`${METHODS}/link`)).toMatchObject({ status: 400, body: { errors: [{ field: "zip" }] } });

  const bob = await world.payer(...Array.from({ length: 6 }, () => GOOD_CARD));
  expect(await bob.post(`${METHODS}/link`)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.methodLimitReached({ most: 6 }).text }] },
  });
});

test("a seventh card from the provider's page is not added, and the provider deletes it", async () => {
  const alice = await world.payer(...Array.from({ length: 5 }, () => GOOD_CARD));
  const links = [
    await alice.post<{ url: string }>(`${METHODS}/link`),
    await alice.post<{ url: string }>(`${METHODS}/link`),
  ];
  world.fake.takeEvents();
  for (const { body } of links) world.fake.completeCheckout(body.url, MASTERCARD);
  await world.deliverAll();

  expect(await methodsOf(alice)).toHaveLength(6);
  await world.chargeJob();
  const tokens = await world.db
    .selectFrom("payment_methods")
    .select("provider_token")
    .where("account_id", "=", alice.accountId)
    .execute();
  expect(tokens.filter(({ provider_token }) => world.fake.ledger.isAttached(provider_token))).toHaveLength(6);
});

test("without a payment provider links and payments are refused with a reason, and there is no webhook", async () => {
  await using bare = await newWorld({ provider: "none" });
  const alice = await bare.customer();

  for (const requests of [alice.post(`${METHODS}/link`), alice.post("/v4/account/payments", { usd: "10.00" })])
    expect(await requests).toMatchObject({
      status: 400,
      body: { errors: [{ reason: texts.noProvider().text }] },
    });
  const refused = await bare.send({ method: "POST", url: "/webhooks/stripe", payload: "{}" });
  expect(refused.statusCode).toBe(404);
});
