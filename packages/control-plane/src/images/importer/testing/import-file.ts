import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { chunkName } from "@moorage/disk-image";
import { readDisk } from "@moorage/disk-image/testing";
import type { ImportBounds } from "../bounds.ts";
import { type ImportOutcome, runImporter } from "../run-importer.ts";
import type { TestFile } from "./gzip-file.ts";

const MB = 1024 * 1024;

export const defaultBounds: ImportBounds = {
  uploadBytes: 5_000_000_000,
  rawBytes: 6144 * MB,
  keptBytes: 6144 * MB,
  members: 196_608,
  // A slow machine takes long, and decides nothing.
  cpuSeconds: 3600,
  seconds: 3600,
  memoryBytes: 200 * MB,
};
/** With these a bomb is detected sooner. */
export const smallBounds: ImportBounds = { ...defaultBounds, rawBytes: 64 * MB, keptBytes: 32 * MB };

/** Like the worker, into memory. `rawSha256` is computed from what is read back. */
export async function importFile(file: TestFile, bounds: ImportBounds) {
  const stored = new Map<string, Buffer>();
  const outcome: ImportOutcome = await runImporter({
    source: Readable.from(copies(file), { objectMode: false, highWaterMark: MB }),
    expectedBytes: file.bytes,
    bounds,
    progress: () => {},
    signal: new AbortController().signal,
    put: async (name, body) => void stored.set(name, Buffer.from(body)),
  });
  return { outcome, stored, readBack: () => hashOf(outcome, stored) };
}

/** The importer consumes what it gets. */
function* copies(file: TestFile): Generator<Buffer> {
  for (const piece of file.pieces()) yield Buffer.from(piece);
}

async function hashOf(outcome: ImportOutcome, stored: ReadonlyMap<string, Buffer>): Promise<string> {
  if (outcome.kind === "refused") throw new Error(outcome.reason.text);
  const hash = createHash("sha256");
  const chunks = readDisk(outcome.manifest, async (index) => stored.get(chunkName(index)) ?? Buffer.alloc(0));
  for await (const raw of chunks) hash.update(raw);
  return hash.digest("hex");
}
