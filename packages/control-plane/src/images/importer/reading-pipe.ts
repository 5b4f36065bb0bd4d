import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PIECE_BYTES = 256 * 1024;

/** What comes through it. A piece is only lent: the next one takes its memory. */
export type ReadingPipe = { pieces: AsyncIterable<Buffer>; close: () => void };

/**
 * A pipe from a child to us, for much. Those that Node makes for children take new memory for everything that they
 * read; this one reads into the same again and again, which saves the collector from most of an image.
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
        // Nothing more before this was used.
        return false;
      },
    },
  });
  // However it ends, it is at its end: what is missing then shows in what came.
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
