import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PIECE_BYTES = 256 * 1024;

/** A piece is valid only until the next one: they share memory. */
export type ReadingPipe = { pieces: AsyncIterable<Buffer>; close: () => void };

/**
 * A pipe from a child for large amounts of data. Node's own child pipes allocate new memory for every read; this one
 * reads into the same buffer, which spares the garbage collector most of an image.
 */
export async function openReadingPipe(): Promise<{ ours: ReadingPipe; theirs: Socket }> {
  const folder = mkdtempSync(join(tmpdir(), "moorage-import-"));
  try {
    const server = createServer().listen(join(folder, "chunks"));
    await once(server, "listening");
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const ours = readInPlace(join(folder, "chunks"));
    const [theirs] = await accepted;
    server.close();
    return { ours, theirs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readInPlace(path: string): ReadingPipe {
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let isOver = false;
  let filled = 0;
  let wake = (): void => {};
  const socket = connect({
    path,
    onread: {
      buffer,
      callback(bytes) {
        filled = bytes;
        wake();
        // Stop reading until this piece was used.
        return false;
      },
    },
  });
  // An error ends it like an end of data: what is missing shows in what was read.
  socket.on("error", () => {});
  socket.once("close", () => {
    isOver = true;
    wake();
  });
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for (;;) {
      if (filled === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve));
      if (filled === 0) return;
      yield buffer.subarray(0, filled);
      filled = 0;
      socket.resume();
    }
  };
  return { pieces: pieces(), close: () => socket.destroy() };
}
