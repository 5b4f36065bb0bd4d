import { mkdir, open, rm, stat, statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { imageMb } from "./disk/disk-decision.ts";
import { growVolume, isGrown } from "./disk/grow-volume.ts";
import { renameDurably } from "./durable-file.ts";
import type { NodePaths } from "./host-paths.ts";
import { isMountPoint, loopDevicesOf, unmount } from "./mounts.ts";
import { runCommand } from "./run-command.ts";

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
const mountOptions = "noatime,nodev,nosuid,noexec,allocsize=1m";

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
  await detachImage(paths.image);
}

const detachTries = 20;

/**
 * Another mount namespace, such as that of a container that has just started, may hold a mount that is gone here, and
 * the device with it. The device is detached when the last holder ends. Nothing waits for that: the file can still be
 * renamed and removed, and mounted again through the same device.
 */
export async function detachImage(image: string): Promise<void> {
  for (const device of await loopDevicesOf(image)) await runCommand("losetup", ["--detach", device]);
  for (let tries = 0; tries < detachTries && (await loopDevicesOf(image)).length > 0; tries++) await sleep(50);
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
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
