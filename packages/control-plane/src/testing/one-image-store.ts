import { afterAll, beforeAll, beforeEach } from "vitest";
import { createImageStores, type ImageStores } from "#images/index.ts";
import { type ObjectStore, startObjectStore } from "./object-store.ts";

/** One real store for all regions and all tests of a file; emptied before each. */
export function oneImageStore(): { store: ObjectStore; imageStores: ImageStores } {
  const one = {} as { store: ObjectStore; imageStores: ImageStores };
  beforeAll(async () => {
    one.store = await startObjectStore();
    one.imageStores = createImageStores({ home: { regions: [], ...one.store.settings } }, 24);
  });
  beforeEach(() => one.store.objects.deleteAll(""));
  afterAll(async () => {
    one.imageStores.close();
    await one.store[Symbol.asyncDispose]();
  });
  return one;
}
