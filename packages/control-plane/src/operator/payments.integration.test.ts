import { expect, test } from "vitest";
import { EMPTY_CARD, newPayingWorld } from "#testing/paying-world.ts";

test("the operator sees charges and payments, of one account or of all, the newest first", async () => {
  await using world = await newPayingWorld();
  const alice = await world.payer();
  const bob = await world.payer(EMPTY_CARD);
  await alice.post("/v4/account/payments", { usd: "10.00" });
  await alice.post("/v4/account/payments", { usd: "12.50" });
  await bob.post("/v4/account/payments", { usd: "20.00" });

  const charges = await world.operator.get(`/admin/charges?account=${alice.accountId}`);
  expect(charges.body).toMatchObject({
    results: 2,
    data: [
      { account: alice.accountId, purpose: "payment", usd: 12.5, status: "succeeded", attempts: 1, reason: null },
      { usd: 10, provider_id: world.fake.charged()[0]?.providerId },
    ],
  });
  const all = await world.operator.get<{ data: object[] }>("/admin/charges");
  expect(all.body.data[0]).toMatchObject({ account: bob.accountId, status: "declined", provider_id: null });

  expect((await world.operator.get("/admin/payments")).body).toMatchObject({ results: 2, data: [{ usd: 12.5 }, {}] });
  expect((await world.operator.get(`/admin/payments?account=${bob.accountId}`)).body).toMatchObject({ results: 0 });
  expect((await world.operator.get("/admin/charges?account=999")).status).toBe(404);
});
