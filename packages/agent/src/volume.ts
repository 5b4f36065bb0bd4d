import { mkdir, open, rm, stat, statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { imageMb } from "./disk/disk-decision.ts";
import { growVolume, isGrown } from "./disk/grow-volume.ts";
import { renameDurably } from "./durable-file.ts";
import type { NodePaths } from "./host-paths.ts";
import { isMountPoint, loopDevicesOf, unmount } from "./mounts.ts";
import { runCommand } from "./run-command.ts";

/** A file with a file system in it, and where that is mounted. */
export type Volume = Pick<NodePaths, "image" | "volume">;

/** A node's disk: XFS in a sparse file, so that a full database fills its own volume and no other. */
export async function makeVolume(paths: Volume, diskMb: number): Promise<void> {
  await makeImage(paths.image, imageMb(diskMb));
  await mkdir(paths.volume, { recursive: true, mode: 0o711 });
  if (!(await isMountPoint(paths.volume))) await mountImage(paths);
  if (!(await isGrown(paths.volume, imageMb(diskMb)))) await growVolume(paths, imageMb(diskMb));
}

/**
 * A device that is on the file already is mounted again, and must be: whoever holds it has the same file system open, and
 * two devices on one file would be two file systems.
 */
async function mountImage(paths: Volume): Promise<void> {
  const mount = (device: string) => runCommand("mount", ["-t", "xfs", "-o", mountOptions, device, paths.volume]);
  const [attached] = await loopDevicesOf(paths.image);
  if (attached === undefined) await mount(await attach(paths.image));
  else
    await mount(attached).catch(async (error: unknown) => {
      // Its holder let go of it in this moment, and it went by itself.
      if ((await loopDevicesOf(paths.image)).length > 0) throw error;
      await mount(await attach(paths.image));
    });
}

const attach = async (image: string): Promise<string> =>
  (await runCommand("losetup", ["--find", "--show", "--direct-io=on", image])).trim();

// A file that grows is else given room ahead, up to as much as it has: a log of 64 MB would make a small disk look full.
const mountOptions = "noatime,nodev,nosuid,noexec,allocsize=1m";

// They are for features that a database does not use, and would count as used: 1.4 GB of a terabyte, before any data.
const withoutReservations = "reflink=0,finobt=0,inobtcount=0";

/** The final name appears only when the file system in it is whole. */
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
 * Another mount namespace, such as that of a container that began meanwhile, may hold a mount that is gone here, and the
 * device with it. The device then goes by itself when the last holder ends. Nobody waits for that: the file can be renamed
 * and removed all the same, and mounted again by the same device.
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

/** False when in doubt: what is inside a volume that is not mounted cannot be known. */
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
