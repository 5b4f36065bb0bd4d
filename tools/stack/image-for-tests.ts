import { engineFact, ensureImageStore } from "./image-store.ts";

/** Before the first host of a test is made, so that none of them imports the engine's image by itself. */
export async function setup(): Promise<void> {
  await ensureImageStore(await engineFact("sha256"));
}
