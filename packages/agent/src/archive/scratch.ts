import { constants } from "node:fs";
import { chown, lstat, mkdir, open, readdir, rm, rmdir, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import type { HostPaths } from "../base/host-paths.ts";
import { detachLoopDevices, isMountPoint, ownFileSystem, unmount } from "../node/mounts.ts";
import { runCommand } from "../base/run-command.ts";

/**
 * Space on the host's disk for one copy of a database, in a file system of its own: a copy that outgrows the estimate
 * fails without filling the tenant's volume or the host's disk. Nothing in it is worth keeping: the agent removes
 * whatever it finds at its start.
 */
export type Scratch = { image: string; folder: string };

const scratchOf = (host: HostPaths, node: string, id: string): Scratch => ({
  image: join(host.scratch, `${id}.img`),
  folder: join(host.scratch, node, id),
});

/** Stays free on the host's disk beside the estimated size of the copy. */
const reserveMb = 1024;

export class NoRoomForCopy extends Error {
  override readonly name = "NoRoomForCopy";
}

/**
 * Containers see what is mounted below their scratch folder later, because the folder is a shared mount that propagates
 * to its slaves. It is a peer group of its own, independent of whether the host's root is shared.
 */
export async function prepareScratch(host: HostPaths): Promise<void> {
  if (!(await isMountPoint(host.scratch))) {
    await runCommand("mount", ["--bind", host.scratch, host.scratch]);
    await runCommand("mount", ["--make-private", host.scratch]);
  }
  await runCommand("mount", ["--make-shared", host.scratch]);
  for (const { name: node } of (await entries(host.scratch)).filter((each) => each.isDirectory())) {
    for (const { name } of await entries(join(host.scratch, node))) {
      const { image, folder } = scratchOf(host, node, name);
      await releaseScratch({ image, folder });
      await unblock(folder);
      await rm(folder, { recursive: true, force: true });
    }
  }
  for (const { name } of (await entries(host.scratch)).filter((each) => !each.isDirectory())) {
    await detachLoopDevices(join(host.scratch, name));
    await rm(join(host.scratch, name), { force: true });
  }
}

/** Programs of a dead agent may be blocked at either end of a named pipe: opening it lets both continue and end. */
async function unblock(path: string): Promise<void> {
  if (!(await lstat(path)).isFIFO()) return;
  await (await open(path, constants.O_RDWR | constants.O_NONBLOCK)).close();
}

const entries = (folder: string) => readdir(folder, { withFileTypes: true });

export async function makeScratch(
  host: HostPaths,
  { node, id, uid, neededMb }: { node: string; id: string; uid: number; neededMb: number },
): Promise<Scratch> {
  const scratch = scratchOf(host, node, id);
  await removeScratch(scratch);
  const { bavail, bsize } = await statfs(host.scratch);
  const freeMb = Math.floor((bavail * bsize) / (1024 * 1024));
  if (freeMb < neededMb + reserveMb)
    throw new NoRoomForCopy(
      `The host's disk has ${freeMb} MB free, and a copy of this database needs ${neededMb} MB and a reserve of ${reserveMb} MB.`,
    );
  // Owned by root: if the mount does not reach the container, the server cannot write here and the clone fails.
  await mkdir(scratch.folder, { recursive: true, mode: 0o700 });
  const file = await open(scratch.image, "w", 0o600);
  try {
    await file.truncate(neededMb * 1024 * 1024);
  } finally {
    await file.close();
  }
  await runCommand("mkfs.xfs", ["-q", "-f", "-K", scratch.image]);
  const device = (await runCommand("losetup", ["--find", "--show", "--direct-io=on", scratch.image])).trim();
  await runCommand("mount", ["-t", "xfs", "-o", ownFileSystem, device, scratch.folder]);
  await chown(scratch.folder, uid, uid);
  return scratch;
}

export async function removeScratch(scratch: Scratch): Promise<void> {
  await releaseScratch(scratch);
  await rm(scratch.image, { force: true });
  await rmdir(scratch.folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
}

/** A server whose clone was killed may take a moment to close the last file. */
const closesWithinMs = 20_000;

async function releaseScratch({ image, folder }: Scratch): Promise<void> {
  await unmount(folder, closesWithinMs);
  await detachLoopDevices(image);
}

/** Removes the folders of nodes that the host no longer has. A folder in use stays until the next sweep. */
export async function sweepScratch(host: HostPaths, isKnown: (node: string) => boolean): Promise<void> {
  for (const { name } of (await entries(host.scratch)).filter((each) => each.isDirectory()))
    if (!isKnown(basename(name))) await rmdir(join(host.scratch, name)).catch(() => {});
}
