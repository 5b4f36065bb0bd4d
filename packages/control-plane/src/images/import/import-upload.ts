import { randomUUID } from "node:crypto";
import type { Text } from "@moorage/contract/texts";
import { MANIFEST } from "@moorage/disk-image";
import type { Db } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import { importBoundsOf, type runImporter } from "../importer/index.ts";
import { findOwnLimits, limitsOf } from "../model/limits.ts";
import { contentFolder, contentKey, uploadKey } from "../model/object-names.ts";
import type { ImageSettings } from "../model/settings.ts";
import type { PurgingImageStore, PurgingImageStores } from "../model/stores.ts";
import { texts } from "../model/texts.ts";
import { verifyContent } from "../model/verify-content.ts";
import { type ImportWatch, NoLongerNeeded } from "./watch-import.ts";

export type ImportDeps = {
  db: Db;
  images: ImageSettings;
  imageStores: PurgingImageStores;
  runImporter: typeof runImporter;
};
/** The outcome of an import. `ended`: no operation waits for it any more. `late`: not done by its deadline. */
export type UploadOutcome =
  | { kind: "taken"; content: string; manifestSha256: string; uploadSha256: string }
  | { kind: "refused"; reason: Text }
  | { kind: "ended" }
  | { kind: "late" };

type Image = { id: number; account_id: number | null; region: string };

/**
 * A refused upload is read once more before the tenant is notified: a byte that flipped between store and worker looks
 * like damage of the upload. Real damage gives the same reason twice; two different reasons point to the transport, and
 * the import is retried.
 */
export async function importUpload(deps: ImportDeps, image: Image, watch: ImportWatch): Promise<UploadOutcome> {
  const first = await importOnce(deps, image, watch);
  if (first.kind !== "refused") return first;
  const second = await importOnce(deps, image, watch);
  if (second.kind === "refused" && second.reason.text !== first.reason.text)
    throw new Error(`The same data were refused for two reasons: ${first.reason.text} ${second.reason.text}`);
  return second;
}

/** Into a folder of its own: another attempt that still runs elsewhere is not disturbed, and does not disturb. */
async function importOnce(deps: ImportDeps, image: Image, watch: ImportWatch): Promise<UploadOutcome> {
  const store = deps.imageStores.of(image.region);
  const content = randomUUID();
  try {
    const outcome = await readInto(deps, store, image, content, watch);
    if (outcome.kind !== "taken") await dropTry(store, image.id, content);
    return outcome;
  } catch (error) {
    await dropTry(store, image.id, content);
    if (watch.signal.reason instanceof NoLongerNeeded) return { kind: "ended" };
    throw error;
  }
}

async function readInto(
  deps: ImportDeps,
  store: PurgingImageStore,
  { id, account_id }: Image,
  content: string,
  { signal, percent }: ImportWatch,
): Promise<UploadOutcome> {
  const { db, images } = deps;
  const upload = await store.head(uploadKey(id));
  if (upload === undefined) throw new Error("The uploaded data are not in the store any more.");
  if (upload.bytes > images.uploadBytes)
    return { kind: "refused", reason: texts.uploadTooLarge({ bytes: upload.bytes, maxBytes: images.uploadBytes }) };
  const source = await store.open(uploadKey(id), upload, signal);
  if (source === undefined) throw new Error("The uploaded data were replaced before they were read.");
  const put = (name: string, body: Uint8Array, digest: Buffer): Promise<void> =>
    store.putWhole(contentKey(id, content, name), body, { digest, signal });

  const limits = limitsOf(account_id === null ? undefined : await findOwnLimits(db, account_id), images);
  const taken = await deps
    .runImporter({
      source,
      expectedBytes: upload.bytes,
      put,
      signal,
      bounds: importBoundsOf({ ...images, rawMb: limits.rawMb }),
      progress: (read) => percent(Math.floor((99 * read) / Math.max(upload.bytes, 1))),
    })
    .finally(() => source.destroy());
  if (taken.kind === "refused") return taken;

  // Last: a folder without a manifest holds no disk.
  const manifest = Buffer.from(JSON.stringify(taken.manifest));
  const digest = sha256(manifest);
  await put(MANIFEST, manifest, digest);
  await verifyContent(store, id, content);
  return { kind: "taken", content, manifestSha256: digest.toString("hex"), uploadSha256: taken.uploadSha256 };
}

/** Best effort: the store may be what failed, and the sweep finds the rest. */
const dropTry = ({ purging }: PurgingImageStore, imageId: number, content: string): Promise<unknown> =>
  purging.deleteAll(contentFolder(imageId, content)).catch(() => {});
