import { expect, test } from "vitest";
import { countWaiting } from "#testing/count-waiting.ts";
import { availableImage, imageRow, type Person, publicImage, upload } from "#testing/image-fixture.ts";
import { CLOSED_ACCOUNT_DAYS, newWorld, type World } from "#testing/world.ts";

const DAY_MS = 86_400_000;
const close = (world: World, { accountId }: Person) =>
  world.db
    .updateTable("accounts")
    .set({
      closed_at: world.time.now,
      data_until: new Date(world.time.now.getTime() + CLOSED_ACCOUNT_DAYS * DAY_MS),
    })
    .where("id", "=", accountId)
    .execute();
const isThere = async (world: World, image: { id: string }): Promise<boolean> =>
  (await imageRow(world, image)).deleted_at === null;

test("images of a closed account stay as long as its data, automatic and pending ones too", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  const mine = [
    await availableImage(world, alice),
    await availableImage(world, alice, { type: "automatic" }),
    (await upload(alice)).body.image,
  ];
  const his = await availableImage(world, bob);
  const published = await publicImage(world, "debian-12");
  await close(world, alice);

  world.time.now = new Date(world.time.now.getTime() + CLOSED_ACCOUNT_DAYS * DAY_MS - 1000);
  await world.run("closedAccounts");
  for (const image of mine) expect(await isThere(world, image)).toBe(true);

  world.time.now = new Date(world.time.now.getTime() + 1000);
  await world.run("closedAccounts");
  for (const image of mine) expect(await isThere(world, image)).toBe(false);
  expect(await isThere(world, his)).toBe(true);
  expect((await world.anonymous.get(`/v4/images/${published.id}`)).status).toBe(200);
  expect(await world.account(alice.accountId)).toMatchObject({ data_until: null });
  const accountEvents = (await world.events()).filter(({ account_id }) => account_id === alice.accountId);
  expect(accountEvents.filter(({ action }) => action === "image_delete").map(({ username }) => username)).toEqual([
    null,
    null,
    null,
  ]);
  expect(accountEvents.filter(({ status }) => status === "failed").map(({ action }) => action)).toEqual([
    "image_upload",
  ]);
});

test("an account reopened in time keeps its images", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);
  await close(world, alice);

  await world.operator.post(`/admin/accounts/${alice.accountId}/reopen`, {});
  world.time.now = new Date(world.time.now.getTime() + 2 * CLOSED_ACCOUNT_DAYS * DAY_MS);
  await world.run("closedAccounts");

  expect(await isThere(world, image)).toBe(true);
});

// The job reads which accounts are due, and only then locks them.
test("an account reopened after the job has started keeps its images", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);
  await close(world, alice);
  world.time.now = new Date(world.time.now.getTime() + CLOSED_ACCOUNT_DAYS * DAY_MS);

  let pending: Promise<void> | undefined;
  await world.db.transaction().execute(async (tx) => {
    const open = { closed_at: null, data_until: null };
    await tx.updateTable("accounts").set(open).where("id", "=", alice.accountId).execute();
    pending = world.run("closedAccounts");
    await expect.poll(() => countWaiting(world)).toBe(1);
  });
  await pending;

  expect(await isThere(world, image)).toBe(true);
});
