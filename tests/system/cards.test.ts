import { request } from "node:http";
import { expect, test } from "vitest";
import { loopback, ports } from "../../tools/stack/addresses.ts";
import { operator } from "../kit/operator.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const card = { card_number: "4242424242424242", cvv: "123", expiry_month: 12, expiry_year: 2049 };
const asMethod = { type: "credit_card", is_default: false, data: card };

async function newTenant() {
  const username = unique("cards");
  const email = `${username}@cards.test`;
  const limits = { databases: 1, nodes: 1, memory_mb: 1024, disk_mb: 10_240 };
  const { id } = await operator<{ id: number }>("/admin/accounts", { company: "Cards", email, limits });
  const users = `/admin/accounts/${id}/users`;
  await operator(users, { username, email, restricted: false });
  const newToken = { label: "cards", scopes: ["*"] };
  const { token } = await operator<{ token: string }>(`${users}/${username}/tokens`, newToken);
  const own = tenant(token);
  await own.call("PUT", "/v4/account", { country: "DE", zip: "20457" });
  return { ...own, token };
}

/** Sent unchanged: `fetch` would normalise the path. */
async function send(token: string, path: string, body: object, at: Partial<{ port: number; method: string }> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; allow: string | undefined }>();
  const text = JSON.stringify(body);
  const call = request({
    host: "127.0.0.1",
    port: at.port ?? ports.front,
    method: at.method ?? "POST",
    path,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      // Node does not frame the body of a GET or OPTIONS: its bytes would begin the next request.
      "content-length": Buffer.byteLength(text),
    },
  });
  call.on("response", (reply) => {
    reply.resume();
    reply.on("end", () => resolve({ status: reply.statusCode ?? 0, allow: reply.headers.allow }));
  });
  call.on("error", reject);
  call.end(text);
  return promise;
}

test("a card reaches `cards` with every spelling of its path; elsewhere there is no such path", async () => {
  const alice = await newTenant();
  const spellings = [
    ["/v4/account/payment-methods", 200],
    ["/v4beta/account/payment-methods", 200],
    ["//v4///account//payment-methods", 200],
    ["/v4/account/payment-methods/", 200],
    ["/v4/account/payment%2Dmethods?page=1", 200],
    ["/%764/account/%70ayment-methods", 200],
    ["/v4/./account/payment-methods", 404],
    ["/v4/account/x/../payment-methods", 404],
    ["/v4/account/Payment-Methods", 404],
    ["/v4/account/payment-methods;x", 404],
    ["/v4/account/payment%252Dmethods", 404],
    ["/v4/account%2Fpayment-methods", 404],
  ] as const;
  const answers = [];
  for (const [path] of spellings) answers.push([path, (await send(alice.token, path, asMethod)).status]);

  expect(answers).toEqual(spellings);
  for (const path of ["/v4/account/payment-methods", "/v4/account/credit-card", "/v4/account/payments"])
    expect((await send(alice.token, path, card, { port: ports.api })).status).toBe(404);
});

test("reads go to `api`; another method is 405 and names the methods of the path", async () => {
  const alice = await newTenant();
  const methods = "/v4/account/payment-methods";

  expect(await send(alice.token, methods, {}, { method: "GET" })).toMatchObject({ status: 200 });
  expect(await send(alice.token, methods, {}, { method: "OPTIONS" })).toEqual({
    status: 204,
    allow: "GET, HEAD, OPTIONS, POST",
  });
  expect(await send(alice.token, methods, asMethod, { method: "PUT" })).toEqual({
    status: 405,
    allow: "GET, HEAD, OPTIONS, POST",
  });
  expect(await send(alice.token, "/v4/account/credit-card", {}, { method: "GET" })).toEqual({
    status: 405,
    allow: "OPTIONS, POST",
  });
});

test("a card is added and charged, and a forged webhook is refused", async () => {
  const alice = await newTenant();

  expect(await alice.call("POST", "/v4/account/payment-methods", asMethod)).toEqual({ status: 200, body: {} });
  const paid = await alice.call("POST", "/v4/account/payments", { usd: "$25.50", cvv: "123" });

  expect(paid).toMatchObject({ status: 200, body: { usd: 25.5 } });
  expect(await alice.call("GET", "/v4/account")).toMatchObject({
    body: { balance: -25.5, credit_card: { last_four: "4242", expiry: "12/2049" } },
  });
  // The signature is checked: the path is open to everybody.
  const forged = await fetch(`${env("MOORAGE_URL")}/webhooks/stripe`, { method: "POST", body: "{}" });
  expect(forged.status).toBe(400);
});

test("card admission refuses requests without its key", async () => {
  const alice = await newTenant();

  for (const path of ["/v4/account/credit-card", "/cards/settle", "/v4/account/payments"])
    expect((await send(alice.token, path, card, { port: ports.cardAdmission })).status).toBe(404);
  expect((await fetch(`http://${loopback(ports.cardAdmission)}/health`)).status).toBe(404);
});
