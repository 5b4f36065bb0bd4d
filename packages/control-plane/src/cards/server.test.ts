import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { type CardVault, ADMISSION_KEY_HEADER, Declined, OutcomeUnknown } from "#payment-provider/index.ts";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import {
  createHttpCardAdmission,
  type CardAdmission,
  AdmissionUnreachable,
  type AdmissionRequest,
} from "./card-admission.ts";
import { createCardsServer } from "./server.ts";
import { texts } from "./texts.ts";

const METHODS = "/v4/account/payment-methods";
const card = { card_number: "4539578763621486", cvv: "739", expiry_month: 12, expiry_year: 2049 };
const body = { type: "credit_card", is_default: true, data: card };
const attempt = { id: 7, holder: { accountUuid: "a-b", customer: null, zip: "20457", country: "DE" } };
const kept = { customer: "cus", token: "pm", cardType: "Visa", lastFour: "1486", expiryMonth: 12, expiryYear: 2049 };

/** With everything sent to the card admission, and everything logged. */
function newCards(
  given: { vault?: CardVault; answer?: (question: AdmissionRequest, n: number) => object | Error } = {},
) {
  const questions: AdmissionRequest[] = [];
  const lines: string[] = [];
  const cardAdmission: CardAdmission = {
    async post(question) {
      questions.push(question);
      const answer = given.answer?.(question, questions.length) ?? { attempt };
      if (answer instanceof Error) throw answer;
      return { status: 200, headers: {}, body: answer };
    },
    check: async () => {},
  };
  const written = new Writable({ write: (chunk, _encoding, done) => (lines.push(String(chunk)), done()) });
  const app = createCardsServer(
    {
      cardAdmission,
      vault: given.vault ?? { keep: async () => kept },
      clock: () => new Date("2026-11-15T12:00:00Z"),
      log: pino({ level: "trace" }, written),
      retryAfterMs: [1, 1],
    },
    { maxInFlight: 10, maxLagMs: 60_000, drainMs: 1000, trustedProxies: false },
  );
  onTestFinished(() => app.close());
  return {
    questions,
    written: () => lines.join(""),
    send: (change: object = {}) =>
      app.inject({
        method: "POST",
        url: METHODS,
        payload: JSON.stringify(body),
        headers: { authorization: "Bearer x", "content-type": "application/json", "idempotency-key": "k" },
        ...change,
      }),
  };
}

const throwing = (error: Error): CardVault => ({
  keep: async () => {
    throw error;
  },
});

test("the card admission gets everything about a card but its number and its code", async () => {
  const { send, questions } = newCards();

  expect((await send()).statusCode).toBe(200);

  expect(questions.map(({ path }) => path)).toEqual([METHODS, "/cards/settle"]);
  expect(questions[0]).toMatchObject({
    headers: { authorization: "Bearer x", "idempotency-key": "k", "x-forwarded-for": "127.0.0.1" },
    body: {
      is_default: true,
      card: { card_type: "Visa", last_four: "1486", expiry_month: 12, expiry_year: 2049 },
    },
  });
  expect(JSON.stringify(questions)).not.toMatch(/4539578763621486|\b739"|:739[,}]/);
});

test.each<[string, CardVault, number]>([
  ["is kept", { keep: async () => kept }, 200],
  ["is declined", throwing(new Declined({ code: "card.declined", text: "The card was declined." })), 400],
  ["is not answered for", throwing(new OutcomeUnknown("StripeConnectionError")), 503],
  ["meets a fault of ours", throwing(new TypeError(`cannot read ${card.card_number} of ${card.cvv}`)), 500],
])("nothing of a card that %s is logged", async (_fate, vault, status) => {
  const { send, written } = newCards({ vault });

  expect((await send()).statusCode).toBe(status);

  expect(written()).toContain('"msg":"request"');
  expect(written()).not.toMatch(/4539578763621486|\b739"|Bearer/);
});

test.each([
  ["a path", { url: `${METHODS}/${card.card_number}` }],
  ["a query", { url: `${METHODS}?number=${card.card_number}` }],
  ["an id of the request", { headers: { "x-request-id": card.card_number, "content-type": "application/json" } }],
  ["a user agent", { headers: { "user-agent": card.card_number, "content-type": "application/json" } }],
  ["a body that is no JSON", { payload: `{"card_number": ${card.card_number}` }],
  ["a body of another type", { headers: { "content-type": "text/plain" } }],
  ["a name of a field", { payload: JSON.stringify({ [`${card.card_number}\0`]: 1 }) }],
])("a number in %s is neither logged nor repeated", async (_where, change) => {
  const { send, written } = newCards();

  const reply = await send(change);

  expect(written()).not.toContain(card.card_number);
  expect(reply.body + JSON.stringify(reply.headers)).not.toContain(card.card_number);
});

test("the provider's outcome is reported until the card admission confirms it", async () => {
  const { send, questions } = newCards({
    answer: (_question, n) => (n === 2 || n === 3 ? new AdmissionUnreachable() : { attempt }),
  });

  expect((await send()).statusCode).toBe(200);

  expect(questions.map(({ path }) => path)).toEqual([METHODS, ...Array<string>(3).fill("/cards/settle")]);
});

test("no answer at admission means nothing was done; no answer at the end means the outcome is unknown", async () => {
  const before = await newCards({ answer: () => new AdmissionUnreachable() }).send();
  const after = await newCards({
    answer: (_question, n) => (n === 1 ? { attempt } : new AdmissionUnreachable()),
  }).send();
  const paying = await newCards({ answer: () => new AdmissionUnreachable() }).send({
    url: "/v4/account/payments",
    payload: '{"usd":"7"}',
  });

  for (const reply of [before, after, paying]) expect(reply.statusCode).toBe(503);
  expect(before.body).toContain(texts.notAcceptedNow().text);
  expect(after.body).toContain(texts.outcomeUnknown().text);
  expect(paying.body).toContain(texts.paymentOutcomeUnknown().text);
});

test("only a payment's own fields are passed on", async () => {
  const { send, questions } = newCards({ answer: () => ({ id: 1 }) });
  const pay = (payload: string) => send({ url: "/v4/account/payments", payload });

  expect((await pay('{"usd":"7","payment_method_id":3,"cvv":"739","card_number":"4539578763621486"}')).json()).toEqual({
    id: 1,
  });
  await pay('["739"]');

  expect(questions.map((each) => each.body)).toEqual([{ usd: "7", payment_method_id: 3 }, []]);
});

test.each([
  ["/v4beta/account/payment-methods", 200],
  ["//v4//account///payment-methods", 200],
  ["/v4/account/payment-methods/", 200],
  ["/v4/account/payment%2Dmethods", 200],
  ["/v4/account/payment-methods/7", 404],
  ["/v4/account", 404],
])("%s is answered %i", async (url, status) => {
  expect((await newCards().send({ url })).statusCode).toBe(status);
});

test("another method is 405, with the methods of the path in all processes", async () => {
  const reply = await newCards().send({ method: "PUT" });

  expect(reply.statusCode).toBe(405);
  expect(reply.headers["allow"]).toBe("GET, HEAD, OPTIONS, POST");
});

test("over the wire: the key, the caller's headers, the answer and its headers", async () => {
  const app = createServer(createLog("test", "silent"));
  app.post("/ask", async (request, reply) => {
    reply.header("x-ratelimit-limit", "400");
    return { key: request.headers[ADMISSION_KEY_HEADER], caller: request.headers["authorization"], body: request.body };
  });
  app.get("/health", async () => ({}));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const cardAdmission = createHttpCardAdmission({ url, key: "the key" });

  const reply = await cardAdmission.post({ path: "/ask", headers: { authorization: "Bearer x" }, body: { a: 1 } });
  await cardAdmission.check();
  await app.close();

  expect(reply).toMatchObject({ status: 200, body: { key: "the key", caller: "Bearer x", body: { a: 1 } } });
  expect(reply.headers["x-ratelimit-limit"]).toBe("400");
  await expect(cardAdmission.post({ path: "/ask", headers: {}, body: {} })).rejects.toThrow(AdmissionUnreachable);
  await expect(cardAdmission.check()).rejects.toThrow(AdmissionUnreachable);
});
