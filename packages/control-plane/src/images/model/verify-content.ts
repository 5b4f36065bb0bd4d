import { CHUNK_BYTES, chunkName, DiskManifest, MANIFEST } from "@moorage/disk-image";
import { sha256 } from "#platform/sha256.ts";
import type { Text } from "@moorage/contract/texts";
import { contentFolder, contentKey } from "./object-names.ts";
import type { ImageStore } from "./stores.ts";
import { texts } from "./texts.ts";

/** The content of the store is not what was reported. A tenant may read the message. */
export class BrokenContent extends Error {
  override readonly name = "BrokenContent";
}

export type VerifiedContent = { manifest: DiskManifest; manifestSha256: Buffer };

/** The manifest of a disk of a terabyte. A larger one must not fill the memory. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Verifies that a folder holds a complete disk: a valid manifest, and exactly the chunks that it names, each of its
 * size. Their bytes are not read: they were stored with a checksum, and every reader compares them.
 */
export async function verifyContent(
  store: Pick<ImageStore, "get" | "head" | "list">,
  imageId: number,
  content: string,
): Promise<VerifiedContent> {
  const { manifest, manifestSha256 } = await readManifest(store, contentKey(imageId, content, MANIFEST));
  const expectedSizes = new Map(
    manifest.chunks.map(({ index, bytes }) => [contentKey(imageId, content, chunkName(index)), bytes]),
  );
  for await (const page of store.list(contentFolder(imageId, content)))
    for (const { key, bytes } of page) {
      if (key === contentKey(imageId, content, MANIFEST)) continue;
      const expected = expectedSizes.get(key);
      if (expected === undefined) throw new BrokenContent(texts.objectUnexpected({ name: nameOf(key) }).text);
      if (expected !== bytes)
        throw new BrokenContent(texts.objectSizeWrong({ name: nameOf(key), bytes, expected }).text);
      expectedSizes.delete(key);
    }
  for (const key of expectedSizes.keys()) throw new BrokenContent(texts.objectMissing({ name: nameOf(key) }).text);
  return { manifest, manifestSha256 };
}

async function readManifest(store: Pick<ImageStore, "get" | "head">, key: string): Promise<VerifiedContent> {
  const found = await store.head(key);
  if (found === undefined) throw new BrokenContent(texts.manifestMissing().text);
  if (found.bytes > MOST_BYTES) throw new BrokenContent(texts.manifestTooLarge({ bytes: found.bytes }).text);
  const bytes = await store.get(key, { compared: true });
  if (bytes === undefined) throw new BrokenContent(texts.manifestMissing().text);
  return { manifest: parseManifest(bytes), manifestSha256: sha256(bytes) };
}

export function parseManifest(bytes: Buffer): DiskManifest {
  const parsed = DiskManifest.safeParse(jsonOf(bytes));
  if (!parsed.success) throw new BrokenContent(texts.manifestUnreadable().text);
  const fault = faultOf(parsed.data);
  if (fault !== undefined) throw new BrokenContent(fault.text);
  return parsed.data;
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function faultOf({ raw_bytes, kept_bytes, stored_bytes, chunks }: DiskManifest): Text | undefined {
  const count = Math.ceil(raw_bytes / CHUNK_BYTES);
  const rawOf = (index: number): number => Math.min(CHUNK_BYTES, raw_bytes - index * CHUNK_BYTES);
  let [last, kept, stored] = [-1, 0, 0];
  for (const { index, bytes } of chunks) {
    if (index <= last || index >= count) return texts.manifestChunkMisplaced({ index });
    [last, kept, stored] = [index, kept + rawOf(index), stored + bytes];
  }
  if (kept !== kept_bytes) return texts.manifestContentSize({ actual: kept, stated: kept_bytes });
  return stored === stored_bytes ? undefined : texts.manifestStoredSize({ actual: stored, stated: stored_bytes });
}

const nameOf = (key: string): string => key.split("/").at(-1) ?? key;
