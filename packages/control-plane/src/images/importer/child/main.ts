/**
 * The process that reads untrusted uploads. It gets their bytes on stdin, writes the chunks to stdout, and reports its
 * progress and verdict on another pipe. It can open no file and no socket.
 */
import { read, write } from "node:fs";
import { promisify } from "node:util";
import type { ImportBounds } from "../bounds.ts";
import { frameHeader } from "../frames.ts";
import { importDisk } from "./import-disk.ts";

const [UPLOAD, CHUNKS, REPORT] = [0, 1, 3];
const INPUT_BYTES = 256 * 1024;
const PROGRESS_BYTES = 8 * 1024 * 1024;

const readInto = promisify(read);
const writeSome = promisify(write);
const buffer = Buffer.allocUnsafe(INPUT_BYTES);
const bounds = JSON.parse(process.argv.at(-1) ?? "") as ImportBounds;

const writeAll = async (fd: number, bytes: Buffer): Promise<void> => {
  for (let from = 0; from < bytes.length; )
    from += (await writeSome(fd, bytes, from, bytes.length - from, null)).bytesWritten;
};
const report = (line: object): Promise<void> => writeAll(REPORT, Buffer.from(`${JSON.stringify(line)}\n`));

let reported = 0;
/** One frame after the other, without interleaving. */
let written: Promise<void> = Promise.resolve();

const verdict = await importDisk(
  {
    async read() {
      const { bytesRead } = await readInto(UPLOAD, buffer, 0, INPUT_BYTES, null);
      return buffer.subarray(0, bytesRead);
    },
    put({ index, body, sha256 }) {
      written = written.then(async () => {
        await writeAll(CHUNKS, frameHeader({ index, bytes: body.length, sha256 }));
        await writeAll(CHUNKS, body);
      });
      return written;
    },
    async progress(bytes) {
      if (bytes - reported < PROGRESS_BYTES) return;
      reported = bytes;
      await report({ kind: "progress", bytes });
    },
    cpuSeconds() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  },
  bounds,
);
await report(verdict);
// Keeps running: the parent reads its memory usage, and then kills it.
setInterval(() => {}, 2 ** 30);
