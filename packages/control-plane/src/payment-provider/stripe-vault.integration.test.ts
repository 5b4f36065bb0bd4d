import { startFakePaymentProvider } from "@moorage/testkit/fake-payment-provider.ts";
import { expect, onTestFinished, test } from "vitest";
import { createStripe, createStripeVault, Declined, OutcomeUnknown } from "./index.ts";
import { texts } from "./texts.ts";

const card = { card_number: "4242424242424242", cvv: "123", expiry_month: 7, expiry_year: 2040 };
const holder = { accountUuid: "a-b-c", customer: null, zip: "10001", country: "US" };

async function newVault(timeoutMs = 30_000) {
  const fake = await startFakePaymentProvider();
  onTestFinished(() => fake.close());
  return { fake, vault: createStripeVault(createStripe({ key: "sk_test_fake", url: fake.url, timeoutMs })) };
}

test("a card becomes a token, with the details that may be shown", async () => {
  const { vault } = await newVault();

  expect(await vault.keep(card, holder, "k")).toEqual({
    customer: expect.stringMatching(/^cus_/),
    token: expect.stringMatching(/^pm_/),
    cardType: "Visa",
    lastFour: "4242",
    expiryMonth: 7,
    expiryYear: 2040,
  });
  expect(await vault.keep({ ...card, card_number: "5555555555554444" }, holder, "k2")).toMatchObject({
    cardType: "MasterCard",
  });
});

test("with one key it is stored once, and all cards of an account have one customer", async () => {
  const { vault } = await newVault();

  const [one, again, other] = await Promise.all([
    vault.keep(card, holder, "k"),
    vault.keep(card, holder, "k"),
    vault.keep(card, holder, "other"),
  ]);

  expect(again).toEqual(one);
  expect(other.token).not.toBe(one.token);
  expect(other.customer).toBe(one.customer);
});

test("a decline has a sentence for the tenant", async () => {
  const { vault } = await newVault();

  const declined = vault.keep({ ...card, card_number: "4000000000000002" }, holder, "k");

  await expect(declined).rejects.toThrow(Declined);
  await expect(declined).rejects.toThrow(texts.declined().text);
});

test("another card with a used key is refused as such", async () => {
  const { vault } = await newVault();
  await vault.keep(card, holder, "k");

  await expect(vault.keep({ ...card, card_number: "5555555555554444" }, holder, "k")).rejects.toThrow(
    /Idempotency-Key was sent before with another card/,
  );
});

test.each([
  ["customers", "break before"],
  ["payment_methods", "error after"],
  ["setup_intents", "silent after"],
  ["setup_intents", "break after"],
] as const)("%s: %s, and the outcome is unknown; the error contains nothing of the card", async (path, fault) => {
  const { fake, vault } = await newVault(500);
  fake.fail(fault, { path: `POST /v1/${path}` });

  const unknown = await vault.keep(card, holder, "k").catch((error: unknown) => error);

  expect(unknown).toBeInstanceOf(OutcomeUnknown);
  const { message, stack = "", cause } = unknown as Error;
  expect(`${message} ${stack} ${JSON.stringify(cause)} ${JSON.stringify(unknown)}`).not.toMatch(
    /4242424242424242|\b123\b/,
  );
});
