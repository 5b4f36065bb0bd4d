import { CHUNK_BYTES, chunkName, DiskManifest, MANIFEST, unpackChunk } from "@moorage/disk-image";
import { contentKey, type ImageStore } from "#images/index.ts";
import { DomainError } from "#platform/errors.ts";
import type { Log } from "#platform/log.ts";
import { sha256 } from "#platform/sha256.ts";
import type { ImageServerMetrics } from "./image-server-metrics.ts";
import type { ImageToSend } from "./image-to-send-store.ts";
import { texts } from "./texts.ts";

export type ContentDeps = { log: Log; metrics: ImageServerMetrics };
/** The chunks of a disk, by index. Undefined: only zeros. */
export type ImageContent = { chunks: number; read: (index: number) => Promise<Buffer | undefined> };

/** A chunk that is damaged in a store is damaged at the second read too; one that was cut in transit is not. */
const ROUNDS = 2;

/** Opens an image in these stores. Only verified content is returned. */
export async function openContent(
  deps: ContentDeps,
  image: ImageToSend,
  nearestFirst: readonly ImageStore[],
): Promise<ImageContent> {
  const stores = { inOrder: nearestFirst };
  const fetch = (name: string, expected: Expected): Promise<Buffer | undefined> =>
    fetchWhole(deps, stores, contentKey(image.id, image.content, name), expected);

  const written = await fetch(MANIFEST, { sha256: image.manifestSha256 });
  if (written === undefined) throw new DomainError("unavailable", { reason: texts.noCompleteCopy() });
  const manifest = DiskManifest.parse(JSON.parse(written.toString("utf8")));
  const kept = new Map(manifest.chunks.map((chunk) => [chunk.index, chunk]));

  return {
    chunks: Math.ceil(image.rawBytes / CHUNK_BYTES),
    async read(index) {
      const chunk = kept.get(index);
      if (chunk === undefined) return undefined;
      const expected = { bytes: chunk.bytes, sha256: Buffer.from(chunk.sha256, "hex") };
      const stored = await fetch(chunkName(index), expected);
      if (stored === undefined) throw new Error(`No store has chunk ${index} of image ${image.id} whole.`);
      return unpackChunk(stored, image.rawBytes, index);
    },
  };
}

type Expected = { bytes?: number; sha256: Buffer };

async function fetchWhole(
  { log, metrics }: ContentDeps,
  stores: { inOrder: readonly ImageStore[] },
  key: string,
  expected: Expected,
): Promise<Buffer | undefined> {
  for (let round = 0; round < ROUNDS; round++)
    for (const store of stores.inOrder) {
      const found = await store.get(key).catch((error: Error) => error);
      const fault = faultOf(found, expected);
      if (fault === undefined) return found as Buffer;
      metrics.fault(store.name, fault);
      const error = found instanceof Error ? { error: found.name } : {};
      log.warn({ store: store.name, key, fault, ...error }, "a store did not return an object as it was stored");
      // A store that does not answer moves to the end, so that not every chunk waits for it.
      if (fault === "away") stores.inOrder = [...stores.inOrder.filter((other) => other !== store), store];
    }
  return undefined;
}

export type Fault = "away" | "missing" | "damaged";

function faultOf(found: Buffer | Error | undefined, { bytes, sha256: expected }: Expected): Fault | undefined {
  if (found instanceof Error) return "away";
  if (found === undefined) return "missing";
  if (bytes !== undefined && found.length !== bytes) return "damaged";
  return sha256(found).equals(expected) ? undefined : "damaged";
}
