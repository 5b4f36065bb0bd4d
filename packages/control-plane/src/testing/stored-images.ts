import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { ImageUpload } from "@moorage/contract";
import { sql } from "kysely";
import { afterAll, beforeAll } from "vitest";
import { createPurgingImageStores } from "#images/index.ts";
import { brokenImages } from "./broken-images.ts";
import { numberOf, type Person } from "./image-fixture.ts";
import { importOpen, sendData } from "./import-fixture.ts";
import { type ObjectStore, startObjectStore } from "./object-store.ts";
import { newWorld, REGION, type WorldSettings } from "./world.ts";

export const OTHER_REGION = "us-east";
const MB = 1024 * 1024;
export type TwoStores = { here: ObjectStore; there: ObjectStore };

/** Two stores for all tests of a file. */
export function twoStoresForAll(): TwoStores {
  const stores = {} as TwoStores;
  beforeAll(async () => {
    Object.assign(stores, { here: await startObjectStore(), there: await startObjectStore() });
  });
  afterAll(async () => {
    await stores.here[Symbol.asyncDispose]();
    await stores.there[Symbol.asyncDispose]();
  });
  return stores;
}

/** A compressed disk of two MB, as a tenant uploads it; no two are alike. */
export const packedDisk = (): Buffer<ArrayBuffer> =>
  gzipSync(Buffer.concat([randomBytes(MB), Buffer.alloc(MB)]), { level: 1 });
/** A disk in the format of a converter. */
export const packedForeignDisk = (): Buffer<ArrayBuffer> =>
  gzipSync(Buffer.concat([Buffer.from("QFI\xfb\0\0\0\x03", "latin1"), Buffer.alloc(MB - 8)]));

/** A world with images in two real stores, in which the test calls each job of the worker. */
export async function storedImages(stores: TwoStores, settings: Pick<WorldSettings, "images" | "runImporter"> = {}) {
  const parts = new AsyncDisposableStack();
  for (const store of Object.values(stores)) await store.empty();
  const imageStores = createPurgingImageStores(
    {
      here: { regions: [REGION], ...stores.here.settings },
      there: { regions: [OTHER_REGION], ...stores.there.settings },
    },
    24,
  );
  parts.defer(async () => imageStores.close());
  const world = parts.use(await newWorld({ ...settings, imageStores }));
  await world.operator.post("/admin/regions", { id: OTHER_REGION, label: "Newark", country: "us" });
  const alice = await world.customer();
  const query = async <Row extends object>(text: string): Promise<Row[]> =>
    (await sql.raw<Row>(text).execute(world.db)).rows;

  return {
    world,
    alice,
    query,
    /** The current faults; no work may be in progress. */
    broken: () => brokenImages(query, imageStores.all),
    requestUpload: (label: string, by: Person = alice) => createUpload(by, label),
    importOpen: () => importOpen(world),
    copyAll: async () => {
      while (await world.copyNextImage());
    },
    /** All keys of both stores. */
    keys: async () => ({ here: await stores.here.keys(), there: await stores.there.keys() }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
export type StoredImages = Awaited<ReturnType<typeof storedImages>>;

async function createUpload(by: Pick<Person, "post">, label: string) {
  const { status, body } = await by.post<ImageUpload>("/v4/images/upload", { label, region: REGION });
  if (status !== 200) throw new Error(`The upload was refused: ${JSON.stringify(body)}`);
  return { id: numberOf(body.image), address: body.upload_to };
}

/** Uploads, and expects success. */
export async function put(address: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const status = await sendData(address, bytes);
  if (status !== 200) throw new Error(`The store answered ${status}.`);
}
