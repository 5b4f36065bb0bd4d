import { CHUNK_BYTES, type DiskManifest } from "@moorage/disk-image";
import { expect, test } from "vitest";
import { sha256 } from "#platform/sha256.ts";
import { BrokenContent, verifyContent } from "./verify-content.ts";

const FOLDER = "images/7/a-try/";
const hash = "a".repeat(64);
/** Three chunks, of which the second is zeros and the third is short. */
const manifest: DiskManifest = {
  format: 1,
  raw_bytes: 2 * CHUNK_BYTES + 512,
  raw_sha256: hash,
  kept_bytes: CHUNK_BYTES + 512,
  stored_bytes: 30,
  chunks: [
    { index: 0, bytes: 10, sha256: hash },
    { index: 2, bytes: 20, sha256: hash },
  ],
};
const sizes = { "chunk-000000": 10, "chunk-000002": 20 };

function storeOf(written: unknown, chunks: Record<string, number>) {
  const bytes = Buffer.from(typeof written === "string" ? written : JSON.stringify(written ?? null));
  const objects = { ...chunks, ...(written !== undefined && { "manifest.json": bytes.length }) };
  return {
    get: async () => bytes,
    head: async () => (written === undefined ? undefined : { bytes: bytes.length, etag: "e" }),
    async *list() {
      yield Object.entries(objects).map(([name, size]) => ({ key: FOLDER + name, bytes: size, at: new Date() }));
    },
  };
}

test("a folder with exactly what its manifest names is complete", async () => {
  const verified = await verifyContent(storeOf(manifest, sizes), 7, "a-try");
  expect(verified).toEqual({ manifest, manifestSha256: sha256(JSON.stringify(manifest)) });
});

test.each<[string, unknown, Record<string, number>, RegExp]>([
  ["no manifest", undefined, sizes, /manifest of the image is missing/],
  ["a manifest that is no JSON", "{", sizes, /cannot be read/],
  ["a manifest of another format", { ...manifest, format: 2 }, sizes, /cannot be read/],
  ["a missing chunk", manifest, { "chunk-000000": 10 }, /chunk-000002 is missing/],
  ["a chunk of another size", manifest, { ...sizes, "chunk-000002": 19 }, /19 bytes and should have 20/],
  ["a chunk too many", manifest, { ...sizes, "chunk-000001": 1 }, /chunk-000001 is not in the manifest/],
  ["chunks out of order", { ...manifest, chunks: manifest.chunks.toReversed() }, sizes, /out of order/],
  ["a chunk twice", { ...manifest, chunks: [manifest.chunks[0], manifest.chunks[0]] }, sizes, /out of order/],
  ["a chunk beyond the end", { ...manifest, raw_bytes: 2 * CHUNK_BYTES }, sizes, /beyond the end/],
  ["other bytes than its chunks hold", { ...manifest, kept_bytes: 512 }, sizes, /hold/],
  ["other bytes than its chunks take", { ...manifest, stored_bytes: 31 }, sizes, /take/],
])("%s is detected", async (_name, written, chunks, reason) => {
  const verifying = verifyContent(storeOf(written, chunks), 7, "a-try");
  await expect(verifying).rejects.toThrow(BrokenContent);
  await expect(verifying).rejects.toThrow(reason);
});
