import { gzipSync } from "node:zlib";
import type { Image } from "@moorage/contract";
import { type FaultyStore, type FaultPlan, startFaultyStore, type StoreFault } from "@moorage/testkit/faulty-store.ts";
import { createRandom, type Random } from "@moorage/testkit/random.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createPurgingImageStores, type PurgingImageStores } from "#images/index.ts";
import { brokenImages } from "#testing/broken-images.ts";
import { aDisk, diskIn, imported, later, sendData, uploaded } from "#testing/import-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { plainImporter } from "#testing/plain-importer.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";

/** The long run has 500: set MOORAGE_TRIALS for it. */
const TRIALS = Number(process.env["MOORAGE_TRIALS"] ?? 6);
const FIRST_SEED = Number(process.env["MOORAGE_SEED"] ?? 1);

let stores: [ObjectStore, ObjectStore];
let faulty: [FaultyStore, FaultyStore];
let imageStores: PurgingImageStores;
beforeAll(async () => {
  stores = [await startObjectStore(), await startObjectStore()];
  faulty = [await startFaultyStore(stores[0]), await startFaultyStore(stores[1])];
  imageStores = createPurgingImageStores(
    { here: { regions: [REGION], ...faulty[0].settings }, there: { regions: ["us-east"], ...faulty[1].settings } },
    24,
  );
});
beforeEach(async () => {
  plan(noFaults);
  for (const store of stores) await store.empty();
});
afterAll(async () => {
  imageStores.close();
  for (const each of [...faulty, ...stores]) await each[Symbol.asyncDispose]();
});

const createWorld = () => newWorld({ imageStores, runImporter: plainImporter, images: { imagesPerAccount: 10_000 } });
const plan = (next: FaultPlan): void => {
  for (const each of faulty) each.plan(next);
};
const noFaults: FaultPlan = () => undefined;

/** Like the workflow; after a number of attempts it is late. */
async function importInTime(world: World, operationId: number, tries: number): Promise<void> {
  const { importUpload, settleUpload, clearUpload } = world.activities;
  for (let n = 0; n < tries; n++) {
    const settled = await importUpload(operationId)
      .then((outcome) => settleUpload(operationId, outcome))
      .catch(() => "again");
    if (settled === "settled") return clearUpload(operationId).catch(() => {});
  }
  await settleUpload(operationId, { kind: "late" });
}

async function runJobs(world: World): Promise<void> {
  await world.run("removeImages");
  await world.run("clearImages");
  await world.db.deleteFrom("image_sweeps").execute();
  await world.run("sweepImages");
  for (let n = 0; n < 3; n++) await world.copyNextImage();
}

const broken = (world: World): Promise<string[]> =>
  brokenImages(
    async <Row extends object>(text: string) => (await sql.raw<Row>(text).execute(world.db)).rows,
    stores.map(({ objects }, n) => ({ ...objects, name: n === 0 ? "here" : "there" })),
  );

function anyFault(random: Random, method: string): StoreFault {
  const [way, at] = [method === "PUT" ? ("up" as const) : ("down" as const), random.below(20_000)];
  return random.oneOf<StoreFault>([
    { kind: "slow", ms: 50 + random.below(300) },
    { kind: "busy" },
    { kind: "cut", way, after: at },
    { kind: "cut", way: "down", after: 0 },
    { kind: "flip", way, at },
    { kind: "flip", way, at: random.below(400) },
  ]);
}

test(`whatever the network does, no image is wrongly available, and nothing is left over: ${TRIALS} times`, {
  timeout: 60_000 + TRIALS * 100_000,
}, async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const ends = { available: 0, gone: 0 };
  for (let seed = FIRST_SEED; seed < FIRST_SEED + TRIALS; seed++) {
    const random = createRandom(seed);
    plan(noFaults);
    const disk = aDisk(1 + random.below(20), seed);
    const { image } = await uploaded(world, alice, gzipSync(disk, { level: random.below(3) }));
    later(world, 3);
    await world.checkUploads();
    const { id } = await world.lastOperation();

    const share = random.oneOf([0.1, 0.3, 0.5]);
    plan((method) => (random.chance(share) ? anyFault(random, method) : undefined));
    await importInTime(world, id, 4);
    await runJobs(world);
    if (random.chance(0.3)) await alice.delete(`/v4/images/${image.id}`);
    await runJobs(world);

    plan(noFaults);
    later(world, 7200);
    await runJobs(world);
    expect([seed, await broken(world)]).toEqual([seed, []]);
    const { status, body } = await alice.get<Image>(`/v4/images/${image.id}`);
    // Two hours later a failed one is gone, like a deleted one.
    ends[status === 200 ? "available" : "gone"]++;
    if (status !== 200) continue;
    expect([seed, body.status]).toEqual([seed, "available"]);
    expect([seed, body.regions.every((each) => each.status === "available")]).toEqual([seed, true]);
    for (const { objects } of stores)
      expect([seed, (await diskIn(world, objects, image)).equals(disk)]).toEqual([seed, true]);
    await alice.delete(`/v4/images/${image.id}`);
    await runJobs(world);
  }
  console.log(
    `${TRIALS} trials: ${JSON.stringify(ends)}, faults: ${faulty[0].passed.length + faulty[1].passed.length}`,
  );
  // Few trials may all end alike.
  expect(TRIALS < 20 || Math.min(ends.available, ends.gone) > 0).toBe(true);
});

/** The first requests that `pick` selects get a fault. */
const firstOf = (count: number, pick: (method: string, path: string) => boolean, fault: StoreFault): FaultPlan => {
  let left = count;
  return (method, path) => (pick(method, path) && left-- > 0 ? fault : undefined);
};
const isRead = (method: string, path: string): boolean => method === "GET" && path.includes("/uploads/");
const isChunk = (method: string, path: string): boolean => method === "PUT" && path.includes("/chunk-");

test("the import waits for a store that takes ten seconds to answer", async () => {
  await using world = await createWorld();
  plan(firstOf(2, (method, path) => isRead(method, path) || isChunk(method, path), { kind: "slow", ms: 10_000 }));
  expect(await imported(world, await world.customer(), aDisk(1))).toMatchObject({ status: "available" });
});

test("a cut read is resumed where it was cut", async () => {
  await using world = await createWorld();
  const reads: string[] = [];
  const cut = firstOf(3, isRead, { kind: "cut", way: "down", after: 5000 });
  plan((method, path) => {
    if (isRead(method, path)) reads.push(path);
    return cut(method, path);
  });
  const disk = aDisk(3);
  const image = await imported(world, await world.customer(), disk);

  expect(image).toMatchObject({ status: "available" });
  expect((await diskIn(world, stores[0].objects, image)).equals(disk)).toBe(true);
  expect(reads.length).toBe(4);
});

test.each([
  ["a busy store", { kind: "busy" }, "Later."],
  ["a PUT that is cut", { kind: "cut", way: "up", after: 2000 }, /socket hang up|ECONNRESET|EPIPE/],
  ["a byte that changes on its way to the store", { kind: "flip", way: "up", at: 2000 }, /digest|SHA256|hash/i],
] as const)("%s: the attempt fails, leaves nothing, and the next one succeeds", async (_name, fault, message) => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image, id: imageId } = await uploaded(world, alice, gzipSync(aDisk(17)));
  later(world, 3);
  await world.checkUploads();
  const { id } = await world.lastOperation();
  // The last one, and more often than the client itself retries.
  plan(firstOf(10, (method, path) => isChunk(method, path) && path.includes("chunk-000001"), fault));
  await expect(world.activities.importUpload(id)).rejects.toThrow(message);
  expect(await stores[0].keys(`images/${imageId}/`)).toEqual([]);

  plan(noFaults);
  await world.activities.settleUpload(id, await world.activities.importUpload(id));
  expect((await alice.get(`/v4/images/${image.id}`)).body).toMatchObject({ status: "available" });
});

const flipped = { kind: "flip", way: "down", at: 3000 } as const;

test("a byte that changes in transit is not blamed on the tenant: the data are read again", async () => {
  await using world = await createWorld();
  plan(firstOf(1, isRead, flipped));
  const disk = aDisk(1);
  const image = await imported(world, await world.customer(), disk);

  expect(image).toMatchObject({ status: "available" });
  expect((await diskIn(world, stores[0].objects, image)).equals(disk)).toBe(true);
});

test("a byte that changes each time makes no image", async () => {
  await using world = await createWorld();
  plan(firstOf(2, isRead, flipped));
  expect(await imported(world, await world.customer(), aDisk(1))).toMatchObject({ status: "pending_upload" });
});

test("an upload that is replaced during a read is read again from its beginning", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const [first, second] = [aDisk(3, 1), aDisk(3, 2)];
  const { image, upload_to } = await uploaded(world, alice, gzipSync(first));
  later(world, 3);
  await world.checkUploads();
  const { id } = await world.lastOperation();
  const cut = firstOf(1, isRead, { kind: "cut", way: "down", after: 5000 });
  let reads = 0;
  plan(async (method, path) => {
    // The cut read is resumed when the object was already replaced.
    if (isRead(method, path) && ++reads === 2) await sendData(upload_to, gzipSync(second));
    return cut(method, path);
  });
  await expect(world.activities.importUpload(id)).rejects.toThrow("replaced");
  await world.activities.settleUpload(id, await world.activities.importUpload(id));

  expect((await diskIn(world, stores[0].objects, image)).equals(second)).toBe(true);
});
