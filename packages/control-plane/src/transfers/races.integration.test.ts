import { expect, test } from "vitest";
import { transferFixture as fixture } from "#testing/transfer-fixture.ts";
import { newWorld } from "#testing/world.ts";

const ROUNDS = 15;
const statusesOf = (replies: readonly { status: number }[]): number[] =>
  replies.map(({ status }) => status).toSorted((a, b) => a - b);

test("of two accounts that accept at once, one gets the instances", async () => {
  await using world = await newWorld();
  const { sender, receiver, stranger, offer, accept, move, compute, view } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const one = await world.compute(sender.accountId);
    const transfer = await offer(one);

    const replies = await Promise.all([accept(receiver, transfer), accept(stranger, transfer)]);

    expect(statusesOf(replies)).toEqual([200, 404]);
    await move();
    const winner = replies[0]?.status === 200 ? receiver : stranger;
    expect(await compute(one)).toMatchObject({ account_id: winner.accountId });
    expect(await view(winner, transfer)).toBe("completed");
  }
});

test("of two requests of one account that accept at once, one succeeds", async () => {
  await using world = await newWorld();
  const { sender, receiver, offer, accept } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const transfer = await offer(await world.compute(sender.accountId));

    const replies = await Promise.all(Array.from({ length: 4 }, () => accept(receiver, transfer)));

    expect(statusesOf(replies)).toEqual([200, 400, 400, 400]);
  }
  expect(await world.openOperations()).toHaveLength(ROUNDS);
});

test("of an acceptance and a cancelation at once, one succeeds", async () => {
  await using world = await newWorld();
  const { sender, receiver, offer, accept, cancel, view } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const transfer = await offer(await world.compute(sender.accountId));

    const [accepted, canceled] = await Promise.all([accept(receiver, transfer), cancel(sender, transfer)]);

    expect([accepted.status, canceled.status, await view(sender, transfer)]).toBeOneOf([
      [200, 400, "accepted"],
      [404, 200, "canceled"],
    ]);
  }
});

test("an instance offered twice at once is in one transfer, also while the first is accepted", async () => {
  await using world = await newWorld();
  const { sender, receiver, requestTransfer, accept } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const [one, other] = [await world.compute(sender.accountId), await world.compute(sender.accountId)];

    const offers = await Promise.all([
      requestTransfer(sender, one, other),
      requestTransfer(sender, other, one),
      requestTransfer(sender, other),
    ]);

    expect(statusesOf(offers)).toEqual([200, 400, 400]);
    const first = offers.find(({ status }) => status === 200)?.body ?? { token: "" };
    const [accepted, again] = await Promise.all([accept(receiver, first), requestTransfer(sender, other)]);
    expect([accepted.status, again.status]).toEqual([200, 400]);
  }
});

test("of an acceptance and a removal at once, an instance is either removed or moved, never both", async () => {
  await using world = await newWorld();
  const { sender, receiver, offer, accept, move, compute, view } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const one = await world.compute(sender.accountId);
    const transfer = await offer(one);

    const [accepted, removed] = await Promise.all([
      accept(receiver, transfer),
      world.operator.post(`/admin/computes/${one.id}/remove`, {}),
    ]);

    expect(removed.status).toBe(200);
    if (accepted.status === 200) await move();
    expect([accepted.status, await view(sender, transfer)]).toBeOneOf([
      [200, "failed"],
      [400, "pending"],
    ]);
    expect(await compute(one)).toMatchObject({ account_id: sender.accountId, deleted_at: expect.any(Date) });
  }
});

test("of a move and a removal at once, the instance is removed from its owner at that time", async () => {
  await using world = await newWorld();
  const { sender, receiver, offer, accept, move, compute, view } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const one = await world.compute(sender.accountId);
    const transfer = await offer(one);
    await accept(receiver, transfer);

    await Promise.all([move(), world.operator.post(`/admin/computes/${one.id}/remove`, {})]);

    expect([await view(sender, transfer), (await compute(one)).account_id]).toBeOneOf([
      ["completed", receiver.accountId],
      ["failed", sender.accountId],
    ]);
  }
});

test("a grant made during the move does not remain", async () => {
  await using world = await newWorld();
  const { sender, receiver, offer, accept, move } = await fixture(world);
  const clerk = await world.colleague(sender.accountId, { restricted: true });
  for (let round = 0; round < ROUNDS; round++) {
    const one = await world.compute(sender.accountId);
    await accept(receiver, await offer(one));

    const [given] = await Promise.all([
      sender.put(`/v4/account/users/${clerk.username}/grants`, {
        linode: [{ id: one.id, permissions: "read_write" }],
      }),
      move(),
    ]);

    expect([200, 400]).toContain(given.status);
    expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
  }
});

test("concurrent transfers in both directions all complete", async () => {
  await using world = await newWorld();
  const { sender, receiver, requestTransfer, accept } = await fixture(world);
  for (let round = 0; round < ROUNDS; round++) {
    const [ours, theirs] = [await world.compute(sender.accountId), await world.compute(receiver.accountId)];
    const [there, back] = await Promise.all([requestTransfer(sender, ours), requestTransfer(receiver, theirs)]);
    const replies = await Promise.all([accept(receiver, there.body), accept(sender, back.body)]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    const open = await world.db.selectFrom("operations").select("id").where("settled_at", "is", null).execute();
    await Promise.all(open.map(({ id }) => world.activities.moveOwnership(id)));
  }
  const ends = await world.db.selectFrom("transfers").select("status").execute();
  expect(ends).toEqual(Array.from({ length: 2 * ROUNDS }, () => ({ status: "completed" })));
});
