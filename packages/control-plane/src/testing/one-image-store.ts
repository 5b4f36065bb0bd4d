import { afterAll, beforeAll, beforeEach } from "vitest";
import { createPurgingImageStores, type PurgingImageStores } from "#images/index.ts";
import { type ObjectStore, startObjectStore } from "./object-store.ts";

/** One real store for all regions and all tests of a file; emptied before each. */
export function oneImageStore(): { store: ObjectStore; imageStores: PurgingImageStores } {
  const one = {} as { store: ObjectStore; imageStores: PurgingImageStores };
  beforeAll(async () => {
    one.store = await startObjectStore();
    one.imageStores = createPurgingImageStores({ home: { regions: [], ...one.store.settings } }, 24);
  });
  beforeEach(() => one.store.empty());
  afterAll(async () => {
    one.imageStores.close();
    await one.store[Symbol.asyncDispose]();
  });
  return one;
}
