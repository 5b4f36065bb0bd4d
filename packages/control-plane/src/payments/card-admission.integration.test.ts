import { expect, test } from "vitest";
import { ADMISSION_KEY_HEADER, SETTLE_PATH } from "#payment-provider/index.ts";
import { newWorld } from "#testing/world.ts";
import { ADMISSION_KEY } from "#testing/world-cards.ts";

const kept = { customer: "cus_1", token: "pm_1", cardType: "Visa", lastFour: "4242", expiryMonth: 1, expiryYear: 2040 };
const facts = { card_type: "Visa", last_four: "4242", expiry_month: 1, expiry_year: 2040 };
const settlement = {
  operation: "addPaymentMethod",
  attempt: 1,
  request: { is_default: false, card: facts },
  outcome: { is: "kept", card: kept },
};

test.each([
  ["without the key", {}],
  ["with a wrong one", { [ADMISSION_KEY_HEADER]: "the key of the card admission, known to all" }],
])("%s the card admission answers nobody", async (_how, headers) => {
  await using world = await newWorld();
  const alice = await world.customer();

  for (const url of ["/health", SETTLE_PATH, "/v4/account/payment-methods", "/v4/account/payments"])
    for (const method of ["GET", "POST"] as const) {
      const reply = await world.sendToCardAdmission({
        method,
        url,
        ...(method === "POST" && { payload: settlement }),
        headers: { authorization: `Bearer ${alice.token}`, ...headers },
      });
      expect(reply.statusCode).toBe(404);
    }
  expect(await world.db.selectFrom("payment_methods").selectAll().execute()).toEqual([]);
});

test("a settlement is only for the account of the token, and works once", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  const settle = (token: string | undefined) =>
    world.sendToCardAdmission({
      method: "POST",
      url: SETTLE_PATH,
      payload: settlement,
      headers: {
        [ADMISSION_KEY_HEADER]: ADMISSION_KEY,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });

  expect((await settle(undefined)).statusCode).toBe(401);
  for (const token of [alice.token, alice.token, bob.token]) await settle(token);

  const methods = await world.db.selectFrom("payment_methods").select(["account_id", "is_default"]).execute();
  expect(methods).toEqual([{ account_id: alice.accountId, is_default: true }]);
  expect(await world.events()).toHaveLength(1);
});

test("the data that `cards` gets of an account are those that a card needs, and no more", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await world.db.updateTable("accounts").set({ zip: "20457", country: "DE" }).execute();

  const reply = await world.sendToCardAdmission({
    method: "POST",
    url: "/v4/account/credit-card",
    payload: { is_default: true, card: facts },
    headers: { [ADMISSION_KEY_HEADER]: ADMISSION_KEY, authorization: `Bearer ${alice.token}` },
  });

  const { euuid } = await world.account(alice.accountId);
  expect(reply.json()).toEqual({
    attempt: {
      id: expect.any(Number),
      holder: { accountUuid: euuid, customer: null, zip: "20457", country: "DE" },
    },
  });
});
