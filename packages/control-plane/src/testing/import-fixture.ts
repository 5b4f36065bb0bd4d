import type { Image, ImageUpload } from "@moorage/contract";
import { chunkName, MANIFEST } from "@moorage/disk-image";
import { readDisk } from "@moorage/disk-image/testing";
import { gzipSync } from "node:zlib";
import { createRandom } from "@moorage/testkit/random.ts";
import { contentKey } from "#images/index.ts";
import type { Objects } from "#platform/objects.ts";
import { parseManifest } from "#images/model/verify-content.ts";
import { imageRow, numberOf, type Person, upload } from "./image-fixture.ts";
import { REGION, type World } from "./world.ts";

const MB = 1024 * 1024;

/** A disk of this many MB: a little of every third is random, the rest is zeros. */
export function aDisk(mb: number, seed = 1): Buffer<ArrayBuffer> {
  const disk = Buffer.alloc(mb * MB);
  const random = createRandom(seed);
  for (let at = 0; at < disk.length; at += 3 * MB)
    for (let n = 0; n < 4096; n++) disk.writeUInt32LE(random.below(2 ** 32), at + 4096 + 4 * n);
  return disk;
}

/** Like a tenant, with the one header that the interface names. */
export async function sendData(address: string, data: Uint8Array<ArrayBuffer>): Promise<number> {
  const answer = await fetch(address, {
    method: "PUT",
    body: data,
    headers: { "content-type": "application/octet-stream" },
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** An upload whose data are in the store. */
export async function uploaded(
  world: World,
  person: Person,
  data: Uint8Array<ArrayBuffer>,
  change: object = {},
): Promise<ImageUpload & { id: number }> {
  const { body } = await upload(person, { region: REGION, ...change });
  await sendData(body.upload_to, data);
  return { ...body, id: numberOf(body.image) };
}

export const later = (world: World, seconds: number): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};

/** Lets the upload watcher find the data that have arrived. */
export async function runUploadWatcher(world: World): Promise<void> {
  later(world, 3);
  await world.checkUploads();
}

export async function importAll(world: World): Promise<void> {
  await runUploadWatcher(world);
  await importOpen(world);
}

/** The actions of an import's workflow, without Temporal. */
export async function importOpen({ db, activities }: World): Promise<void> {
  const open = await db
    .selectFrom("operations")
    .select("id")
    .where("kind", "=", "importImage")
    .where("settled_at", "is", null)
    .orderBy("id")
    .execute();
  for (const { id } of open) {
    await activities.settleUpload(id, await activities.importUpload(id));
    await activities.clearUpload(id);
  }
}

export async function imported(world: World, person: Person, disk: Buffer, change: object = {}): Promise<Image> {
  const { image } = await uploaded(world, person, gzipSync(disk), change);
  await importAll(world);
  return (await person.get<Image>(`/v4/images/${image.id}`)).body;
}

/** The raw disk as read back from a store. */
export async function diskIn(world: World, store: Objects, image: { id: string }): Promise<Buffer> {
  const { id, content } = await imageRow(world, image);
  const named = async (name: string): Promise<Buffer> => {
    const bytes = await store.get(contentKey(id, content ?? "", name));
    if (bytes === undefined) throw new Error(`There is no ${name}.`);
    return bytes;
  };
  const pieces: Buffer[] = [];
  const fetchChunk = (index: number): Promise<Buffer> => named(chunkName(index));
  for await (const piece of readDisk(parseManifest(await named(MANIFEST)), fetchChunk)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}
