/** Every call of our adapters, against Stripe's own description of its API. */
import { signed } from "@moorage/testkit/fake-payment-provider.ts";
import { startStripeMock } from "@moorage/testkit/stripe-mock.ts";
import Fastify from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createStripe, createStripeCharges, createStripeVault, Declined } from "./index.ts";

type Seen = { call: string; status: number; key: boolean };
const seen: Seen[] = [];
const between = Fastify();
let mock: Awaited<ReturnType<typeof startStripeMock>>;
let adapters: ReturnType<typeof adaptersAt>;

const adaptersAt = (url: string) => {
  const stripe = createStripe({ key: "sk_test_mock", url });
  return {
    charges: createStripeCharges({ stripe, webhookSecret: "whsec_mock", returnUrl: "https://moorage.test/" }),
    vault: createStripeVault(stripe),
  };
};

beforeAll(async () => {
  mock = await startStripeMock();
  between.removeAllContentTypeParsers();
  between.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  between.all("/*", async (request, reply) => {
    const path = request.url.split("?", 1)[0] as string;
    const form = new URLSearchParams((request.body ?? "") as string);
    // Newer than the latest stripe-mock, which has the version before our client's.
    if (path === "/v1/checkout/sessions") form.delete("allowed_payment_method_types[0]");
    const answer = await fetch(`${mock.url}${request.url}`, {
      method: request.method,
      headers: {
        authorization: String(request.headers.authorization),
        ...(request.method === "POST" && { "content-type": "application/x-www-form-urlencoded" }),
      },
      ...(request.method === "POST" && { body: form.toString() }),
    });
    const named = path.replace(/\b(pm|pi|seti|cus)_\w+/, ":id");
    seen.push({
      call: `${request.method} ${named}`,
      status: answer.status,
      key: request.headers["idempotency-key"] !== undefined,
    });
    const body = (await answer.json()) as Record<string, unknown>;
    // Its answer is an example, in which an intent has an error and waits for the holder.
    if ("last_payment_error" in body) body["last_payment_error"] = null;
    return reply.status(answer.status).send(body);
  });
  adapters = adaptersAt(await between.listen({ host: "127.0.0.1", port: 0 }));
});
afterAll(async () => {
  between.server.closeAllConnections();
  await between.close();
  await mock.close();
});

const holder = { accountUuid: "9f1c", customer: null, zip: "10115", country: "DE" };
const charge = {
  chargeId: 17,
  accountUuid: "9f1c",
  opened: "2027-01-01T00:00:00.000Z",
  amountCents: 12_050,
  customer: "cus_1",
  token: "pm_1",
  description: "Payment 17",
};
const during = async (work: () => Promise<unknown>): Promise<Seen[]> => {
  const from = seen.length;
  await work();
  return seen.slice(from);
};

test("a charge is a PaymentIntent; one that waits for the holder is cancelled", async () => {
  const calls = await during(() => expect(adapters.charges.charge(charge, "k")).rejects.toThrow(Declined));

  expect(calls).toEqual([
    { call: "POST /v1/payment_intents", status: 200, key: true },
    { call: "POST /v1/payment_intents/:id/cancel", status: 200, key: true },
  ]);
});

test("an earlier charge is looked up among the customer's intents", async () => {
  const calls = await during(async () => expect(await adapters.charges.find(charge)).toBeUndefined());

  expect(calls[0]).toEqual({ call: "GET /v1/payment_intents", status: 200, key: false });
});

test("charges since a time are listed with their cards and refunds", async () => {
  const since = new Date("2027-01-01T00:00:00Z");
  const calls = await during(async () => {
    // Those of its example are of no installation.
    expect(await adapters.charges.listSince(since)).toEqual([]);
    expect(await adapters.charges.listSince(undefined)).toEqual([]);
  });

  expect(calls).toEqual(
    Array.from({ length: 2 }, () => ({ call: "GET /v1/payment_intents", status: 200, key: false })),
  );
});

test("a card is deleted", async () => {
  expect(await during(() => adapters.charges.forget("pm_1"))).toMatchObject([
    { call: "POST /v1/payment_methods/:id/detach", status: 200 },
  ]);
});

test("a link is a session that sets a card up for later", async () => {
  const calls = await during(async () => {
    expect(await adapters.charges.linkToAddCard(holder)).toEqual({
      url: expect.stringMatching(/^https:/),
      customer: expect.stringMatching(/^cus_/),
    });
  });

  expect(calls).toMatchObject([
    { call: "POST /v1/customers", status: 200, key: true },
    { call: "POST /v1/checkout/sessions", status: 200 },
  ]);
});

test("a card added through a link is read from its SetupIntent", async () => {
  const object = { object: "checkout.session", mode: "setup", setup_intent: "seti_1", metadata: { account: "9f1c" } };
  const event = { id: "evt_1", object: "event" as const, type: "checkout.session.completed", data: { object } };
  const { payload, headers } = signed(event, "whsec_mock");

  const calls = await during(() => adapters.charges.readEvent(Buffer.from(payload), headers["stripe-signature"]));

  expect(calls).toMatchObject([{ call: "GET /v1/setup_intents/:id", status: 200 }]);
});

test("a card is stored by three calls, each with a key", async () => {
  const card = { card_number: "4242424242424242", cvv: "123", expiry_month: 12, expiry_year: 2040 };
  // In its example a SetupIntent waits for the holder.
  const calls = await during(() => expect(adapters.vault.keep(card, holder, "k")).rejects.toThrow(Declined));

  expect(calls).toEqual([
    { call: "POST /v1/customers", status: 200, key: true },
    { call: "POST /v1/payment_methods", status: 200, key: true },
    { call: "POST /v1/setup_intents", status: 200, key: true },
  ]);
});
