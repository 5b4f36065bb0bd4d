import { createHash, randomBytes, randomUUID } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import { CHUNK_BYTES, chunkName, MANIFEST } from "@moorage/disk-image";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { brokenImages, type Shelf } from "./broken-images.ts";
import { type ObjectStore, startObjectStore } from "./object-store.ts";
import { newWorld, REGION, type World } from "./world.ts";

let stores: { first: ObjectStore; second: ObjectStore };
beforeAll(async () => {
  stores = { first: await startObjectStore(), second: await startObjectStore() };
});
afterAll(async () => {
  await stores.first[Symbol.asyncDispose]();
  await stores.second[Symbol.asyncDispose]();
});

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/** One available image of three chunks, the second of zeros, in both stores; and the faults found in it. */
async function imageFixture(world: World) {
  const shelves: Shelf[] = Object.entries(stores).map(([name, { objects }]) => ({ ...objects, name }));
  for (const store of Object.values(stores)) await store.empty();
  const { accountId } = await world.customer();
  const content = randomUUID();
  const raw = Buffer.concat([randomBytes(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES), randomBytes(1024 * 1024)]);
  const kept = [0, 2].map((index) => {
    const object = zstdCompressSync(raw.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES));
    return { index, object, bytes: object.length, sha256: sha256(object).toString("hex") };
  });
  const stored = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  const manifest = JSON.stringify({
    format: 1,
    raw_bytes: raw.length,
    raw_sha256: sha256(raw).toString("hex"),
    kept_bytes: CHUNK_BYTES + 1024 * 1024,
    stored_bytes: stored,
    chunks: kept.map(({ object: _, ...expected }) => expected),
  });
  const { id } = await world.db
    .insertInto("images")
    .values({
      account_id: accountId,
      label: "web",
      created_by: "user",
      status: "available",
      region: REGION,
      size_mb: 17,
      raw_bytes: raw.length,
      stored_bytes: stored,
      content,
      raw_sha256: sha256(raw),
      manifest_sha256: sha256(Buffer.from(manifest)),
      created_at: world.time.now,
      updated_at: world.time.now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const key = (name: string): string => `images/${id}/${content}/${name}`;
  for (const [store, { objects }] of Object.entries(stores)) {
    for (const { index, object } of kept) await objects.put(key(chunkName(index)), object);
    await objects.put(key(MANIFEST), manifest);
    await world.db
      .insertInto("image_copies")
      .values({ image_id: id, store, status: "available", next_try_at: world.time.now, updated_at: world.time.now })
      .execute();
  }
  const query = async <Row extends object>(text: string): Promise<Row[]> =>
    (await sql.raw<Row>(text).execute(world.db)).rows;
  return { id, key, query, broken: () => brokenImages(query, shelves) };
}

test("an image that is complete in both stores has no faults", async () => {
  await using world = await newWorld();
  const { broken } = await imageFixture(world);

  expect(await broken()).toEqual([]);
});

test.each([
  ["a chunk is missing", /second: chunk-000002 is missing/, (key) => stores.second.delete(key("chunk-000002"))],
  [
    "a chunk has rotted",
    /first: chunk-000000 is another/,
    async (key) => stores.first.flipByte(key("chunk-000000"), 9),
  ],
  ["the manifest is missing", /first: it has no manifest/, (key) => stores.first.delete(key(MANIFEST))],
  ["the manifest was changed", /is not the one/, async (key) => stores.second.flipByte(key(MANIFEST), 40)],
  [
    "a dead try lies about",
    /first holds images\/1\/dead\/chunk/,
    () => stores.first.objects.put("images/1/dead/chunk-000000", "x"),
  ],
  ["an upload stays", /second holds uploads\/1/, () => stores.second.objects.put("uploads/1", "x")],
] as [string, RegExp, (key: (name: string) => string) => Promise<unknown>][])(
  "a fault in a store is found: %s",
  async (_, expected, harm) => {
    await using world = await newWorld();
    const { key, broken } = await imageFixture(world);
    await harm(key);

    expect(await broken()).toContainEqual(expect.stringMatching(expected));
  },
);

test.each([
  ["deleted with its objects left", "update images set deleted_at = now()", /which no row explains/],
  ["of another size", "update images set size_mb = 18", /without what is known/],
  ["in no store", "delete from image_copies", /lies in no store/],
  ["of another disk", "update images set raw_sha256 = '\\x00'", /do not have the recorded SHA-256/],
  [
    "still being made",
    "insert into images (account_id, label, created_by, status, region, created_at, updated_at) select account_id, 'x', 'x', 'creating', region, now(), now() from images",
    /still being made/,
  ],
  [
    "published with an end of its own",
    "update images set account_id = null, name = 'x', remove_at = now()",
    /still ends by itself/,
  ],
] as [string, string, RegExp][])("a fault in its row is found: %s", async (_, harm, expected) => {
  await using world = await newWorld();
  const { query, broken } = await imageFixture(world);
  await query(harm);

  expect(await broken()).toContainEqual(expect.stringMatching(expected));
});
