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

async function mountImage(paths: Volume): Promise<void> {
  const [attached] = await loopDevicesOf(paths.image);
  const device = attached ?? (await runCommand("losetup", ["--find", "--show", "--direct-io=on", paths.image])).trim();
  await runCommand("mount", ["-t", "xfs", "-o", mountOptions, device, paths.volume]);
}

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

const detachTries = 100;

export async function detachImage(image: string): Promise<void> {
  for (const device of await loopDevicesOf(image)) await runCommand("losetup", ["--detach", device]);
  // Detaching is only asked for while something still holds the device, and a file in use must not be moved away.
  for (let tries = 0; (await loopDevicesOf(image)).length > 0; tries++) {
    if (tries === detachTries) throw new Error("The volume's loop device is still in use.");
    await sleep(50);
  }
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
