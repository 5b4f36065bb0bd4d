import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createPurgingImageStores, type PurgingImageStores } from "#images/index.ts";
import { imageRow } from "#testing/image-fixture.ts";
import { aDisk, diskIn, imported, later } from "#testing/import-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { plainImporter } from "#testing/plain-importer.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";
import { addMissingCopies } from "./copy-images.ts";
import { createLog } from "#platform/log.ts";

let [here, there]: ObjectStore[] = [];
let imageStores: PurgingImageStores;
beforeAll(async () => {
  [here, there] = [await startObjectStore(), await startObjectStore()];
  imageStores = createPurgingImageStores(
    { here: { regions: [REGION], ...here.settings }, there: { regions: ["us-east"], ...there.settings } },
    24,
  );
});
beforeEach(async () => {
  await both().here.empty();
  await both().there.empty();
});
afterAll(async () => {
  imageStores.close();
  await both().here[Symbol.asyncDispose]();
  await both().there[Symbol.asyncDispose]();
});
const both = () => ({ here: here as ObjectStore, there: there as ObjectStore });

async function createFixture() {
  const world = await newWorld({ imageStores, runImporter: plainImporter });
  await world.operator.post("/admin/regions", { id: "us-east", label: "Newark", country: "us" });
  return world;
}
const regionsOf = async (alice: Awaited<ReturnType<World["customer"]>>, { id }: { id: string }) => {
  const { regions } = (await alice.get<{ regions: { region: string; status: string }[] }>(`/v4/images/${id}`)).body;
  return Object.fromEntries(regions.map(({ region, status }) => [region, status]));
};
const copyAll = async (world: World): Promise<void> => {
  while (await world.copyNextImage());
};

test("an image is copied to the other store, byte for byte, and is available in both regions", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const disk = aDisk(17);
  const image = await imported(world, alice, disk);
  expect(await regionsOf(alice, image)).toEqual({ [REGION]: "available", "us-east": "pending replication" });

  await copyAll(world);
  expect(await regionsOf(alice, image)).toEqual({ [REGION]: "available", "us-east": "available" });
  expect(await both().there.keys()).toEqual(await both().here.keys());
  expect((await diskIn(world, both().there.objects, image)).equals(disk)).toBe(true);
});

test("an image waits for an unreachable store, and is copied when it is back", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(9));
  await both().there.stop();
  await copyAll(world);
  expect(await regionsOf(alice, image)).toMatchObject({ "us-east": "pending replication" });

  await both().there.start();
  later(world, 60);
  await copyAll(world);
  expect(await regionsOf(alice, image)).toMatchObject({ "us-east": "available" });
});

test("a chunk that is damaged in the first store is not copied", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(9));
  both().here.flipByte((await both().here.keys())[0] as string, 20);
  await copyAll(world);

  expect(await regionsOf(alice, image)).toMatchObject({ "us-east": "pending replication" });
  expect((await both().there.keys()).some((key) => key.endsWith("manifest.json"))).toBe(false);
});

test("a manifest that differs from the settled one is not copied, even if it is valid", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(9));
  const key = (await both().here.keys()).at(-1) as string;
  await both().here.objects.put(key, `${(await both().here.objects.get(key))?.toString()} `);
  await copyAll(world);

  expect(await regionsOf(alice, image)).toMatchObject({ "us-east": "pending replication" });
  expect(await both().there.keys()).toEqual([]);
});

test("after an interruption only the rest is copied", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(17));
  const [first = ""] = await both().here.keys();
  await both().there.objects.put(first, (await both().here.objects.get(first)) as Buffer);
  both().here.flipByte(first);
  await copyAll(world);

  expect(await regionsOf(alice, image)).toMatchObject({ "us-east": "available" });
});

test("a deletion reaches both stores", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(9));
  await copyAll(world);
  await alice.delete(`/v4/images/${image.id}`);
  await world.run("clearImages");

  expect([await both().here.keys(), await both().there.keys()]).toEqual([[], []]);
});

test("a store that is unreachable when an image is deleted is cleared later", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(9));
  await copyAll(world);
  await both().there.stop();
  await alice.delete(`/v4/images/${image.id}`);
  await world.run("clearImages");
  await both().there.start();
  expect(await both().there.keys()).not.toEqual([]);

  later(world, 60);
  await world.run("clearImages");
  expect(await both().there.keys()).toEqual([]);
});

test("an image deleted while it is copied leaves nothing", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(17));
  const target = imageStores.all[1] as (typeof imageStores.all)[number];
  const putWhole = target.putWhole.bind(target);
  let deleted = false;
  Object.assign(target, {
    putWhole: async (...given: Parameters<typeof putWhole>) => {
      if (!deleted) {
        deleted = true;
        await alice.delete(`/v4/images/${image.id}`);
        await world.run("clearImages");
      }
      return putWhole(...given);
    },
  });
  try {
    await copyAll(world);
  } finally {
    Object.assign(target, { putWhole });
  }

  expect([deleted, await both().there.keys()]).toEqual([true, []]);
});

test("images that are older than a store are copied to it", async () => {
  await using world = await createFixture();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(9));
  await world.db.deleteFrom("image_copies").where("store", "=", "there").execute();
  const deps = { db: world.db, clock: world.clock, imageStores, log: createLog("test", "silent") };
  await addMissingCopies(deps);
  await addMissingCopies(deps);
  await copyAll(world);

  expect(await regionsOf(alice, image)).toMatchObject({ "us-east": "available" });
  expect((await imageRow(world, image)).status).toBe("available");
});
