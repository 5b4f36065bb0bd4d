import { engineFact, ensureImageStore } from "./image-store.ts";

/** Runs before the first host of a test is created, so that no host imports the engine's image itself. */
export async function setup(): Promise<void> {
  await ensureImageStore(await engineFact("sha256"));
}
