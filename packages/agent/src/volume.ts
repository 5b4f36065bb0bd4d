import { mkdir, open, rm, stat, statfs } from "node:fs/promises";
import { renameDurably } from "./durable-file.ts";
import type { NodePaths } from "./host-paths.ts";
import { isMountPoint, loopDevicesOf } from "./mounts.ts";
import { runCommand } from "./run-command.ts";

/** A node's disk: XFS in a sparse file, so that a full database fills its own volume and no other. */
export async function makeVolume(paths: NodePaths, diskMb: number): Promise<void> {
  await makeImage(paths.image, diskMb);
  await mkdir(paths.volume, { recursive: true, mode: 0o711 });
  if (await isMountPoint(paths.volume)) return;
  const [attached] = await loopDevicesOf(paths.image);
  const device = attached ?? (await runCommand("losetup", ["--find", "--show", "--direct-io=on", paths.image])).trim();
  await runCommand("mount", ["-t", "xfs", "-o", "noatime,nodev,nosuid,noexec", device, paths.volume]);
}

/** The final name appears only when the file system in it is whole. */
async function makeImage(path: string, diskMb: number): Promise<void> {
  if (await exists(path)) return;
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "w", 0o600);
  try {
    await file.truncate(diskMb * 1024 * 1024);
    await runCommand("mkfs.xfs", ["-q", "-f", "-K", temporary]);
    await file.sync();
  } finally {
    await file.close();
  }
  await renameDurably(temporary, path);
}

export async function releaseVolume(paths: NodePaths): Promise<void> {
  while (await isMountPoint(paths.volume)) await runCommand("umount", [paths.volume]);
  for (const device of await loopDevicesOf(paths.image)) await runCommand("losetup", ["--detach", device]);
  // Detaching is only asked for while something still holds the device, and a file in use must not be moved away.
  if ((await loopDevicesOf(paths.image)).length > 0) throw new Error("The volume's loop device is still in use.");
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
