import { chunkName, type DiskManifest, MANIFEST } from "@moorage/disk-image";
import { sha256 } from "#platform/sha256.ts";
import { contentFolder, contentKey } from "../object-names.ts";
import type { ImageStore } from "../stores.ts";
import { BrokenContent, parseManifest, verifyContent } from "../verify-content.ts";

export type Content = { id: number; content: string; manifest_sha256: Buffer };
type Chunk = DiskManifest["chunks"][number];

/** Each is completely in memory. */
const AT_ONCE = 4;

/**
 * Copies a disk from one store to another: the chunks that are missing there, each compared with the manifest before it
 * is sent, and the manifest last. After an interruption only the rest is copied.
 */
export async function copyContent(
  from: ImageStore,
  to: ImageStore,
  image: Content,
  signal: AbortSignal,
): Promise<void> {
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
  await Promise.all(Array.from({ length: AT_ONCE }, copyOn)).finally(() => {
    left.length = 0;
  });

  signal.throwIfAborted();
  await to.putWhole(manifestKey, bytes, { signal });
  const { manifestSha256 } = await verifyContent(to, image.id, image.content);
  if (!manifestSha256.equals(image.manifest_sha256)) throw new BrokenContent(`The manifest in ${to.name} is another.`);
}

async function copyChunk(from: ImageStore, to: ImageStore, key: string, chunk: Chunk, signal: AbortSignal) {
  const body = await from.get(key);
  if (body === undefined || body.length !== chunk.bytes || sha256(body).toString("hex") !== chunk.sha256)
    throw new BrokenContent(`${chunkName(chunk.index)} in ${from.name} is not what was written there.`);
  await to.putWhole(key, body, { digest: Buffer.from(chunk.sha256, "hex"), signal });
}

async function sizesIn(store: ImageStore, { id, content }: Content): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for await (const page of store.list(contentFolder(id, content)))
    for (const { key, bytes } of page) sizes.set(key, bytes);
  return sizes;
}

const keyOf = ({ id, content }: Content, { index }: Chunk): string => contentKey(id, content, chunkName(index));
