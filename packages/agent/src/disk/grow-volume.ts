import { open, stat, statfs } from "node:fs/promises";
import { loopDevicesOf } from "../mounts.ts";
import { runCommand } from "../run-command.ts";
import type { Volume } from "../volume.ts";

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
