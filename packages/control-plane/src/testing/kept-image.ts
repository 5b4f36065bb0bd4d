import { randomUUID } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import { CHUNK_BYTES, chunkName, type DiskManifest, MANIFEST } from "@moorage/disk-image";
import { contentKey } from "#images/index.ts";
import type { Objects } from "#platform/objects.ts";
import { sha256 } from "#platform/sha256.ts";
import { REGION, type World } from "./world.ts";

export type KeptImage = { id: number; raw: Buffer; content: string; keyOf: (index: number) => string };

/** An available image with its chunks in the named stores; without an account it is public. */
export async function keepImage(
  { db, clock }: World,
  raw: Buffer,
  stores: Readonly<Record<string, Objects>>,
  owner: { account: number } | { name: string },
): Promise<KeptImage> {
  const content = randomUUID();
  const cut = cutDisk(raw);
  const written = Buffer.from(JSON.stringify(cut.manifest));
  const { id } = await db
    .insertInto("images")
    .values({
      ...("account" in owner ? { account_id: owner.account, name: null } : { account_id: null, name: owner.name }),
      label: "kept",
      description: null,
      created_by: "tester",
      region: REGION,
      status: "available",
      size_mb: Math.ceil(raw.length / 1024 ** 2),
      raw_bytes: raw.length,
      raw_sha256: sha256(raw),
      content,
      manifest_sha256: sha256(written),
      created_at: clock(),
      updated_at: clock(),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  for (const [store, objects] of Object.entries(stores)) {
    for (const { index, bytes } of cut.chunks) await objects.put(contentKey(id, content, chunkName(index)), bytes);
    await objects.put(contentKey(id, content, MANIFEST), written);
    await db
      .insertInto("image_copies")
      .values({ image_id: id, store, status: "available", next_try_at: clock(), updated_at: clock() })
      .execute();
  }
  return { id, raw, content, keyOf: (index) => contentKey(id, content, chunkName(index)) };
}

function cutDisk(raw: Buffer): { chunks: { index: number; bytes: Buffer }[]; manifest: DiskManifest } {
  const pieces = Array.from({ length: Math.ceil(raw.length / CHUNK_BYTES) }, (_, index) => ({
    index,
    raw: raw.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  })).filter((piece) => piece.raw.some((byte) => byte !== 0));
  const chunks = pieces.map((piece) => ({ index: piece.index, bytes: zstdCompressSync(piece.raw) }));
  const sum = (lengths: number[]): number => lengths.reduce((total, length) => total + length, 0);
  const manifest: DiskManifest = {
    format: 1,
    raw_bytes: raw.length,
    raw_sha256: sha256(raw).toString("hex"),
    kept_bytes: sum(pieces.map((piece) => piece.raw.length)),
    stored_bytes: sum(chunks.map(({ bytes }) => bytes.length)),
    chunks: chunks.map(({ index, bytes }) => ({ index, bytes: bytes.length, sha256: sha256(bytes).toString("hex") })),
  };
  return { chunks, manifest };
}
