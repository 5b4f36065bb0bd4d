import { createHash } from "node:crypto";
import { createGunzip } from "node:zlib";
import { chunkName, createCutter } from "@moorage/disk-image";
import type { runImporter } from "#images/index.ts";

/** The importer for valid data, without a separate process. */
export const plainImporter: typeof runImporter = async ({ source, put, progress, signal }) => {
  const hash = createHash("sha256");
  const cutter = createCutter({
    put: ({ index, body, sha256 }) => put(chunkName(index), body, Buffer.from(sha256, "hex")),
  });
  let read = 0;
  source.on("data", (piece: Buffer) => {
    hash.update(piece);
    read += piece.length;
    progress(read);
  });
  const unzip = createGunzip();
  source.on("error", (error) => unzip.destroy(error));
  source.pipe(unzip);
  try {
    for await (const piece of unzip) {
      signal.throwIfAborted();
      await cutter.write(piece as Buffer);
    }
  } catch (error) {
    if (!isGzipFault(error)) throw error;
    return { kind: "refused", reason: { code: "image.test", text: "The data are not gzip." } };
  }
  return { kind: "taken", manifest: await cutter.end(), uploadSha256: hash.digest("hex") };
};

const isGzipFault = (error: unknown): boolean =>
  error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
