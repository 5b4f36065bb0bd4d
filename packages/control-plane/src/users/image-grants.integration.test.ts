import type { Grants } from "@moorage/contract";
import { expect, test } from "vitest";
import { availableImage, IMAGES, numberOf, publicImage } from "#testing/image-fixture.ts";
import { newWorld, type World } from "#testing/world.ts";

async function newCompany(world: World) {
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  return {
    owner,
    clerk,
    grant: (change: object) => owner.put<Grants>(`/v4/account/users/${clerk.username}/grants`, change),
    held: async () => (await clerk.get<Grants>("/v4/profile/grants")).body,
  };
}

test("images are granted in the list image by their bare numbers, and a grant gives access", async () => {
  await using world = await newWorld();
  const { owner, clerk, grant, held } = await newCompany(world);
  const [golden, other] = [await availableImage(world, owner, { label: "Golden" }), await availableImage(world, owner)];

  const { status, body } = await grant({ image: [{ id: numberOf(golden), permissions: "read_only" }] });

  expect(status).toBe(200);
  expect(body.image).toEqual([
    { id: numberOf(golden), label: "Golden", permissions: "read_only" },
    { id: numberOf(other), label: other.label, permissions: null },
  ]);
  expect((await held()).image).toEqual([{ id: numberOf(golden), label: "Golden", permissions: "read_only" }]);
  expect((await clerk.get(`${IMAGES}/${golden.id}`)).status).toBe(200);
  expect((await clerk.delete(`${IMAGES}/${golden.id}`)).status).toBe(403);
  await grant({ image: [{ id: numberOf(golden), permissions: null }] });
  expect((await clerk.get(`${IMAGES}/${golden.id}`)).status).toBe(404);
});

test("another account's image, a public, a deleted and a missing one are refused alike", async () => {
  await using world = await newWorld();
  const { owner, grant, held } = await newCompany(world);
  const [theirs, deleted] = [await availableImage(world, await world.customer()), await availableImage(world, owner)];
  await publicImage(world, "debian-12");
  const published = await world.db.selectFrom("images").select("id").where("account_id", "is", null).executeTakeFirst();
  await owner.delete(`${IMAGES}/${deleted.id}`);

  for (const id of [numberOf(theirs), published?.id, numberOf(deleted), 4])
    expect(await grant({ image: [{ id, permissions: "read_only" }] })).toMatchObject({
      status: 400,
      body: { errors: [{ field: "image[0].id", reason: expect.stringContaining(String(id)) }] },
    });
  expect((await held()).image).toEqual([]);
});
