import type { BigIntStats } from "node:fs";
import { constants, type FileHandle, lstat, open, readFile, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { SECTOR_BYTES } from "@moorage/disk-image";

/** A retry would fail the same way. The message is for the tenant and reveals nothing of the host. */
export class CannotCapture extends Error {
  override readonly name = "CannotCapture";
}

export type Device = {
  bytes: number;
  /** Fills the buffer, starting at offset `from`. */
  read: (into: Buffer, from: number) => Promise<void>;
  /** Throws if the length has changed since it was opened. */
  requireSameLength: () => Promise<void>;
  close: () => Promise<void>;
};

export type DeviceBounds = { folders: readonly string[]; maxBytes: number };

const mbOf = (bytes: number): number => Math.ceil(bytes / 1024 ** 2);

/** Opens a block device or a file whose real path is below one of the folders, and nothing else of this host. */
export async function openDevice(path: string, { folders, maxBytes }: DeviceBounds): Promise<Device> {
  if (!path.startsWith("/")) throw outside();
  const real = await realpath(path).catch(notThere);
  const allowed = await realOnes(folders);
  const isAllowed = (place: string): boolean => allowed.some((folder) => place.startsWith(join(folder, "/")));
  if (!isAllowed(real)) throw outside();
  const seen = await lstat(real, { bigint: true }).catch(notThere);
  // Checked before opening, because opening alone has side effects on some devices.
  if (!seen.isFile() && !seen.isBlockDevice()) throw neither();
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(notThere);
  try {
    const opened = await handle.stat({ bigint: true });
    // The path, or a folder above it, may have been replaced between the check and the opening.
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

/** stat reports size 0 for a block device; its number of sectors is in sysfs. */
async function lengthOf(handle: FileHandle): Promise<number> {
  const stats = await handle.stat({ bigint: true });
  if (stats.isFile()) return Number(stats.size);
  const sectors = await readFile(`/sys/dev/block/${numbersOf(stats)}/size`, "utf8");
  return Number(sectors) * 512;
}

/** Major and minor, as Linux packs them. */
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
    throw new CannotCapture("The disk does not exist at the path that its host has for it. Ask the operator.", {
      cause: error,
    });
  if (error.code === "ELOOP") throw outside();
  throw error;
}

const outside = (): CannotCapture =>
  new CannotCapture("The path of the disk is outside of the folders that its host reads disks from. Ask the operator.");
const neither = (): CannotCapture =>
  new CannotCapture("The path of the disk is neither a block device nor a file. Ask the operator.");
const changed = (before: number, now: number): CannotCapture =>
  new CannotCapture(
    `The disk changed its length from ${before} to ${now} bytes while it was read. Capture it again when nobody resizes it.`,
  );
