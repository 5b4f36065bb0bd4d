import type { BigIntStats } from "node:fs";
import { constants, type FileHandle, lstat, open, readFile, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { SECTOR_BYTES } from "@moorage/disk-image";

/** Trying again would end the same way. The sentence is for the tenant: it names nothing of the host. */
export class CannotCapture extends Error {
  override readonly name = "CannotCapture";
}

export type Device = {
  bytes: number;
  /** Fills the buffer from there. */
  read: (into: Buffer, from: number) => Promise<void>;
  /** Throws unless it is as long as at the beginning. */
  requireSameLength: () => Promise<void>;
  close: () => Promise<void>;
};

export type DeviceBounds = { folders: readonly string[]; maxBytes: number };

const mbOf = (bytes: number): number => Math.ceil(bytes / 1024 ** 2);

/** A block device or a file below one of the folders, by whatever name, and nothing else of this host. */
export async function openDevice(path: string, { folders, maxBytes }: DeviceBounds): Promise<Device> {
  if (!path.startsWith("/")) throw outside();
  const real = await realpath(path).catch(notThere);
  const allowed = await realOnes(folders);
  const isAllowed = (place: string): boolean => allowed.some((folder) => place.startsWith(join(folder, "/")));
  if (!isAllowed(real)) throw outside();
  const seen = await lstat(real, { bigint: true }).catch(notThere);
  // Before it is opened: opening alone makes some kinds of device do things.
  if (!seen.isFile() && !seen.isBlockDevice()) throw neither();
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(notThere);
  try {
    const opened = await handle.stat({ bigint: true });
    // Whatever was put in its place, or in that of a folder above it, between the look and the opening.
    const isAnother = opened.dev !== seen.dev || opened.ino !== seen.ino;
    if (isAnother || !isAllowed(await readlink(`/proc/self/fd/${handle.fd}`))) throw outside();
    const bytes = await lengthOf(handle);
    requireLength(bytes, maxBytes);
    return deviceOf(handle, bytes);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function requireLength(bytes: number, maxBytes: number): void {
  if (bytes === 0) throw new CannotCapture("The disk is empty: it has 0 bytes.");
  if (bytes > maxBytes)
    throw new CannotCapture(`The disk has ${mbOf(bytes)} MB; an image may have at most ${mbOf(maxBytes)} MB.`);
  if (bytes % SECTOR_BYTES !== 0)
    throw new CannotCapture(
      `The disk has ${bytes} bytes, which is no multiple of ${SECTOR_BYTES}: no machine could use it as a disk.`,
    );
}

const deviceOf = (handle: FileHandle, bytes: number): Device => ({
  bytes,
  async read(into, from) {
    for (let filled = 0; filled < into.length; ) {
      const { bytesRead } = await handle.read(into, filled, into.length - filled, from + filled);
      if (bytesRead === 0) throw changed(bytes, from + filled);
      filled += bytesRead;
    }
  },
  async requireSameLength() {
    const now = await lengthOf(handle);
    if (now !== bytes) throw changed(bytes, now);
  },
  close: () => handle.close(),
});

/** A block device says 0 in its own place: the kernel tells its sectors elsewhere. */
async function lengthOf(handle: FileHandle): Promise<number> {
  const stats = await handle.stat({ bigint: true });
  if (stats.isFile()) return Number(stats.size);
  const sectors = await readFile(`/sys/dev/block/${numbersOf(stats)}/size`, "utf8");
  return Number(sectors) * 512;
}

/** As Linux packs them. */
function numbersOf({ rdev }: BigIntStats): string {
  const major = ((rdev >> 8n) & 0xfffn) | ((rdev >> 32n) & ~0xfffn);
  const minor = (rdev & 0xffn) | ((rdev >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

async function realOnes(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  return found.filter((folder) => folder !== undefined);
}

function notThere(error: NodeJS.ErrnoException): never {
  if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ENXIO")
    throw new CannotCapture("The disk is not where its host was told to find it. Ask the operator.", { cause: error });
  if (error.code === "ELOOP") throw outside();
  throw error;
}

const outside = (): CannotCapture =>
  new CannotCapture("The disk lies outside of what its host may read disks from. Ask the operator.");
const neither = (): CannotCapture =>
  new CannotCapture("What its host has in the disk's place is neither a block device nor a file. Ask the operator.");
const changed = (before: number, now: number): CannotCapture =>
  new CannotCapture(
    `The disk changed its length from ${before} to ${now} bytes while it was read. Capture it again when nobody resizes it.`,
  );
