import { expect, test } from "vitest";
import { transferFixture as fixture } from "#testing/transfer-fixture.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const remove = (world: World, { id }: { id: number }) => world.operator.post(`/admin/computes/${id}/remove`, {});
const close = (world: World, { accountId }: { accountId: number }) =>
  world.db.updateTable("accounts").set({ closed_at: world.time.now }).where("id", "=", accountId).execute();

test("when an instance is gone nothing is moved, and both accounts are notified which", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, mail, offer, accept, move, view, compute, eventsOf } = await fixture(world);
  const transfer = await offer(web, mail);
  await accept(receiver, transfer);
  await remove(world, mail);

  await move();

  expect([await view(sender, transfer), await view(receiver, transfer)]).toEqual(["failed", "failed"]);
  expect(await compute(web)).toMatchObject({ account_id: sender.accountId });
  expect(await world.openOperations()).toEqual([]);
  expect(await eventsOf(sender)).toEqual(["create notification", "accept failed", "fail notification"]);
  expect(await eventsOf(receiver)).toEqual(["accept failed", "fail notification"]);
  const reasons = (await world.events()).flatMap(({ message }) => message ?? []);
  expect(reasons).toHaveLength(4);
  for (const reason of reasons) expect(reason).toBe(texts.computesNotOwned({ ids: [mail.id] }).text);
  expect((await offer(web)).status).toBe("pending");
});

test("when an instance has another owner nothing is moved", async () => {
  await using world = await newWorld();
  const { sender, receiver, stranger, web, mail, offer, accept, move, view, compute } = await fixture(world);
  const transfer = await offer(web, mail);
  await accept(receiver, transfer);
  await world.db.updateTable("computes").set({ account_id: stranger.accountId }).where("id", "=", web.id).execute();

  await move();

  expect(await view(sender, transfer)).toBe("failed");
  expect([await compute(web), await compute(mail)]).toMatchObject([
    { account_id: stranger.accountId },
    { account_id: sender.accountId },
  ]);
});

test("a transfer with an instance that is gone is not accepted, and nothing changes", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, mail, offer, accept, view } = await fixture(world);
  const transfer = await offer(web, mail);
  await remove(world, web);

  expect(await accept(receiver, transfer)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining(String(web.id)) }] },
  });
  expect([await view(sender, transfer), await world.openOperations()]).toEqual(["pending", []]);
});

test("a transfer from a closed account is not accepted", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, accept, view } = await fixture(world);
  const transfer = await offer(web);
  await close(world, sender);

  expect(await accept(receiver, transfer)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("closed") }] },
  });
  expect([await view(receiver, transfer), await world.openOperations()]).toEqual(["pending", []]);
});

test.each(["sender", "receiver"] as const)("closing the %s ends the transfer, and nothing moves", async (who) => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, accept, move, compute, eventsOf } = await fixture(world);
  await accept(receiver, await offer(web));
  await close(world, { sender, receiver }[who]);

  await move();

  expect(await compute(web)).toMatchObject({ account_id: sender.accountId });
  expect(await eventsOf(receiver)).toEqual(["accept failed", "fail notification"]);
  const transfers = await world.db.selectFrom("transfers").select(["status", "message"]).execute();
  expect(transfers).toEqual([{ status: "failed", message: expect.stringContaining("closed") }]);
});

test("after its deadline a transfer has failed, for good", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, accept, move, view, compute, eventsOf } = await fixture(world);
  const transfer = await offer(web);
  await accept(receiver, transfer);
  const { id, created_at, deadline_at } = await world.lastOperation();
  expect(deadline_at.getTime() - created_at.getTime()).toBe(3 * 3_600_000);

  await world.expire(id);
  await move();
  await world.expire(id);

  expect(await view(sender, transfer)).toBe("failed");
  expect(await compute(web)).toMatchObject({ account_id: sender.accountId });
  expect(await eventsOf(receiver)).toEqual(["accept failed", "fail notification"]);
});

test("carried out many times at once, a transfer happens once", async () => {
  await using world = await newWorld();
  const { receiver, web, mail, offer, accept, move, compute, eventsOf } = await fixture(world);
  await accept(receiver, await offer(web, mail));

  await Promise.all(Array.from({ length: 8 }, move));

  expect(await compute(web)).toMatchObject({ account_id: receiver.accountId, label: web.label });
  expect(await eventsOf(receiver)).toEqual(["accept finished"]);
  expect((await world.audit()).filter(({ action }) => action === "moveEntities.done")).toHaveLength(1);
});
