import { step } from "@moorage/crash-points";
import { chunkName, type DiskManifest, MANIFEST } from "@moorage/disk-image";
import { sql } from "kysely";
import { createPause } from "#platform/pause.ts";
import { sha256 } from "#platform/sha256.ts";
import { dropUnexplained, findKept } from "../model/explained.ts";
import { contentFolder, contentKey } from "../model/object-names.ts";
import type { ImageStore, PurgingImageStore } from "../model/stores.ts";
import { BrokenContent, parseManifest, verifyContent } from "../model/verify-content.ts";
import type { StorageDeps } from "./clear-deleted.ts";

export const copySteps = ["worker.copyImage"] as const;

const POLL_MS = 5000;
/** Lease of a copy: no other worker copies the image meanwhile. The copying worker renews it. */
const HELD_MS = 120_000;
const HOLD_MS = 10_000;
const AGAIN_MS = 60_000;
/** Each is completely in memory. */
const CHUNKS_AT_ONCE = 4;

type Content = { id: number; content: string; manifest_sha256: Buffer };
type Chunk = DiskManifest["chunks"][number];
type Due = Content & { region: string; store: string };

/** A separate loop: copying an image takes minutes, and no job waits for that. */
export function startCopying(deps: StorageDeps): { close(): Promise<void> } {
  const { pause, wake } = createPause(POLL_MS);
  const closing = new AbortController();
  const loop = (async () => {
    await addMissingCopies(deps).catch((error: unknown) =>
      deps.log.warn({ err: error }, "missing copies of images could not be listed"),
    );
    while (!closing.signal.aborted) {
      const copied = await copyNext(deps, closing.signal).catch((error: unknown) => {
        deps.log.warn({ err: error }, "images to copy could not be listed");
        return false;
      });
      if (!copied) await pause();
    }
  })();
  return {
    async close() {
      closing.abort(new Error("The worker is closing."));
      wake();
      await loop;
    },
  };
}

/** For images that are older than a store. */
export const addMissingCopies = async ({ db, clock, imageStores }: StorageDeps): Promise<void> => {
  for (const { name } of imageStores.all)
    await sql`
      insert into image_copies (image_id, store, status, next_try_at, updated_at)
      select id, ${name}, 'pending', ${clock()}, ${clock()} from images
      where status = 'available' and deleted_at is null
        and not exists (select from image_copies c where c.image_id = images.id and c.store = ${name})
      on conflict do nothing`.execute(db);
};

/** Copies one image that a store lacks. False: there was none to copy. */
export async function copyNext(deps: StorageDeps, closing?: AbortSignal): Promise<boolean> {
  const due = await takeDue(deps);
  if (due === undefined) return false;
  const stop = new AbortController();
  const holding = setInterval(() => {
    hold(deps, due).then(
      (held) => held || stop.abort(new Error("The image was deleted.")),
      () => {},
    );
  }, HOLD_MS);
  try {
    const signal = AbortSignal.any([stop.signal, ...(closing === undefined ? [] : [closing])]);
    await step(copySteps[0], () => copy(deps, due, signal));
  } catch (error) {
    if (!stop.signal.aborted)
      deps.log.warn({ err: error, image: due.id, store: due.store }, "an image could not be copied; this is retried");
    await setNext(deps, due, AGAIN_MS);
    await dropIfDeleted(deps, due);
  } finally {
    clearInterval(holding);
  }
  return true;
}

async function takeDue({ db, clock, imageStores }: StorageDeps): Promise<Due | undefined> {
  const now = clock();
  const names = imageStores.all.map(({ name }) => name);
  const { rows } = await sql<Due>`
    update image_copies c set next_try_at = ${new Date(now.getTime() + HELD_MS)} from images i
    where i.id = c.image_id and (c.image_id, c.store) = (
      select c.image_id, c.store from image_copies c join images i on i.id = c.image_id
      where c.status = 'pending' and c.next_try_at <= ${now} and c.store = any(${names}::text[])
        and i.status = 'available' and i.deleted_at is null
      order by c.next_try_at limit 1 for update of c skip locked)
    returning i.id, i.content, i.manifest_sha256, i.region, c.store`.execute(db);
  return rows[0];
}

async function hold({ db, clock }: StorageDeps, due: Due): Promise<boolean> {
  const { rows } = await sql`
    update image_copies c set next_try_at = ${new Date(clock().getTime() + HELD_MS)} from images i
    where c.image_id = ${due.id} and c.store = ${due.store} and c.status = 'pending'
      and i.id = c.image_id and i.deleted_at is null returning c.store`.execute(db);
  return rows.length > 0;
}

/** From whichever store has a complete copy. */
async function copy(deps: StorageDeps, due: Due, signal: AbortSignal): Promise<void> {
  const target = storeOf(deps, due.store);
  const sources = await sourcesOf(deps, due);
  let fault: unknown = new Error("No store that we know has it.");
  for (const source of sources) {
    const copied = await copyContent(source, target, due, signal).then(
      () => true,
      (error: unknown) => {
        fault = error;
        return false;
      },
    );
    if (!copied) continue;
    await markCopied(deps, due);
    return dropIfDeleted(deps, due);
  }
  throw fault;
}

async function sourcesOf({ db, imageStores }: StorageDeps, due: Due): Promise<ImageStore[]> {
  const whole = await db
    .selectFrom("image_copies")
    .select("store")
    .where("image_id", "=", due.id)
    .where("status", "=", "available")
    .execute();
  const names = whole.map(({ store }) => store);
  const home = imageStores.of(due.region);
  const others = imageStores.all.filter((store) => store !== home);
  return [home, ...others].filter(({ name }) => names.includes(name));
}

/**
 * Copies a disk from one store to another: the chunks that are missing there, each compared with the manifest before it
 * is sent, and the manifest last. After an interruption only the rest is copied.
 */
async function copyContent(from: ImageStore, to: ImageStore, image: Content, signal: AbortSignal): Promise<void> {
  const manifestKey = contentKey(image.id, image.content, MANIFEST);
  const bytes = await from.get(manifestKey);
  if (bytes === undefined || !sha256(bytes).equals(image.manifest_sha256))
    throw new BrokenContent(`The manifest in ${from.name} is not the one that was written there.`);
  const { chunks } = parseManifest(bytes);

  const there = await sizesIn(to, image);
  const left = chunks.filter((chunk) => there.get(keyOf(image, chunk)) !== chunk.bytes);
  const copyOn = async (): Promise<void> => {
    for (let chunk = left.shift(); chunk !== undefined; chunk = left.shift()) {
      signal.throwIfAborted();
      await copyChunk(from, to, keyOf(image, chunk), chunk, signal);
    }
  };
  await Promise.all(Array.from({ length: CHUNKS_AT_ONCE }, copyOn)).finally(() => {
    left.length = 0;
  });

  signal.throwIfAborted();
  await to.putWhole(manifestKey, bytes, { signal });
  const { manifestSha256 } = await verifyContent(to, image.id, image.content);
  if (!manifestSha256.equals(image.manifest_sha256)) throw new BrokenContent(`The manifest in ${to.name} is another.`);
}

async function sizesIn(store: ImageStore, { id, content }: Content): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for await (const page of store.list(contentFolder(id, content)))
    for (const { key, bytes } of page) sizes.set(key, bytes);
  return sizes;
}

const keyOf = ({ id, content }: Content, { index }: Chunk): string => contentKey(id, content, chunkName(index));

async function copyChunk(from: ImageStore, to: ImageStore, key: string, chunk: Chunk, signal: AbortSignal) {
  const body = await from.get(key);
  if (body === undefined || body.length !== chunk.bytes || sha256(body).toString("hex") !== chunk.sha256)
    throw new BrokenContent(`${chunkName(chunk.index)} in ${from.name} is not what was written there.`);
  await to.putWhole(key, body, { digest: Buffer.from(chunk.sha256, "hex"), signal });
}

const markCopied = ({ db, clock }: StorageDeps, due: Due): Promise<unknown> =>
  db
    .updateTable("image_copies")
    .set({ status: "available", updated_at: clock() })
    .where("image_id", "=", due.id)
    .where("store", "=", due.store)
    .execute();

const setNext = ({ db, clock }: StorageDeps, due: Due, ms: number): Promise<unknown> =>
  db
    .updateTable("image_copies")
    .set({ next_try_at: new Date(clock().getTime() + ms) })
    .where("image_id", "=", due.id)
    .where("store", "=", due.store)
    .where("status", "=", "pending")
    .execute();

/** The image may have been deleted, and its objects cleared, while it was copied. */
async function dropIfDeleted(deps: StorageDeps, due: Due): Promise<void> {
  const [image] = await findKept(deps.db, { ids: [due.id] });
  if (image !== undefined && image.deleted_at !== null) await dropUnexplained(storeOf(deps, due.store), image);
}

function storeOf({ imageStores }: StorageDeps, name: string): PurgingImageStore {
  const store = imageStores.all.find((each) => each.name === name);
  if (store === undefined) throw new Error(`There is no image store ${name}.`);
  return store;
}
