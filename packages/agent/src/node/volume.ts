import { lstat, mkdir, open, rm, stat, statfs } from "node:fs/promises";
import { renameDurably } from "../base/durable-file.ts";
import type { NodePaths } from "../base/host-paths.ts";
import { detachLoopDevices, isMountPoint, loopDevicesOf, ownFileSystem, unmount } from "./mounts.ts";
import { runCommand } from "../base/run-command.ts";

/** A file that contains a file system, and its mount point. */
export type Volume = Pick<NodePaths, "image" | "volume">;

/** A node's disk: XFS in a sparse file, so that a full database fills only its own volume. */
export async function makeVolume(paths: Volume, diskMb: number): Promise<void> {
  await makeImage(paths.image, imageMb(diskMb));
  await mkdir(paths.volume, { recursive: true, mode: 0o711 });
  if (!(await isMountPoint(paths.volume))) await mountImage(paths);
  if (!(await isGrown(paths.volume, imageMb(diskMb)))) await growVolume(paths, imageMb(diskMb));
}

/**
 * If the file has a loop device already, that device has to be mounted: whoever holds it has the same file system open,
 * and two devices on one file would be two file systems.
 */
async function mountImage(paths: Volume): Promise<void> {
  const mount = (device: string) => runCommand("mount", ["-t", "xfs", "-o", mountOptions, device, paths.volume]);
  const [attached] = await loopDevicesOf(paths.image);
  if (attached === undefined) await mount(await attach(paths.image));
  else
    await mount(attached).catch(async (error: unknown) => {
      // The last holder released the device just now, and it was detached.
      if ((await loopDevicesOf(paths.image)).length > 0) throw error;
      await mount(await attach(paths.image));
    });
}

const attach = async (image: string): Promise<string> =>
  (await runCommand("losetup", ["--find", "--show", "--direct-io=on", image])).trim();

// Without it XFS preallocates up to the size of a growing file: a log of 64 MB would make a small disk look full.
const mountOptions = `${ownFileSystem},allocsize=1m`;

// Features that a database does not use would count as used space: 1.4 GB of a terabyte, before any data.
const withoutReservations = "reflink=0,finobt=0,inobtcount=0";

/** The final name appears only when the file system is complete. */
async function makeImage(path: string, sizeMb: number): Promise<void> {
  if (await exists(path)) return;
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "w", 0o600);
  try {
    await file.truncate(sizeMb * 1024 * 1024);
    await runCommand("mkfs.xfs", ["-q", "-f", "-K", "-m", withoutReservations, "-l", "size=64m", temporary]);
    await file.sync();
  } finally {
    await file.close();
  }
  await renameDurably(temporary, path);
}

export async function releaseVolume(paths: Volume): Promise<void> {
  await unmount(paths.volume);
  await detachLoopDevices(paths.image);
}

export async function usedDiskMb(paths: NodePaths): Promise<number | undefined> {
  if (!(await isMountPoint(paths.volume))) return undefined;
  const { blocks, bfree, bsize } = await statfs(paths.volume);
  return Math.ceil(((blocks - bfree) * bsize) / (1024 * 1024));
}

/** False when in doubt: the content of an unmounted volume is unknown. */
export async function neverHadData(paths: NodePaths): Promise<boolean> {
  if (!(await exists(paths.image))) return true;
  return (await isMountPoint(paths.volume)) && !(await exists(paths.data));
}

export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );

/**
 * Space beyond the plan: for the file system's own log, and for what a server writes between the decision that its disk
 * is full and its last write.
 */
export const reserveMb = (planMb: number): number => Math.min(Math.max(256, Math.ceil(planMb / 20)), 8192);

/** The size of the image file for a plan's disk. */
export const imageMb = (planMb: number): number => planMb + reserveMb(planMb);

export const mb = 1024 * 1024;

/** Grows online, never shrinks: first the file, then the loop device, then the file system. */
export async function growVolume({ image, volume }: Volume, sizeMb: number): Promise<void> {
  if ((await stat(image)).size < sizeMb * mb) {
    const file = await open(image, "r+");
    try {
      await file.truncate(sizeMb * mb);
      await file.sync();
    } finally {
      await file.close();
    }
  }
  for (const device of await loopDevicesOf(image)) await runCommand("losetup", ["--set-capacity", device]);
  await runCommand("xfs_growfs", ["-d", volume]);
}

/** The file system's log, and a last allocation group too small for it to use. */
const slackMb = (sizeMb: number): number => 96 + sizeMb / 1000;

/** Checks the mounted file system, not the file: a crash may have left the file larger than the file system. */
export async function isGrown(volume: string, sizeMb: number): Promise<boolean> {
  const { blocks, bsize } = await statfs(volume);
  return blocks * bsize >= (sizeMb - slackMb(sizeMb)) * mb;
}
