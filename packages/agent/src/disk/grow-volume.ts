import { open, stat, statfs } from "node:fs/promises";
import { loopDevicesOf } from "../mounts.ts";
import { runCommand } from "../run-command.ts";
import type { Volume } from "../volume.ts";

export const mb = 1024 * 1024;

/** Online, and only ever larger: the file, then the device, then the file system, each as large as the one before. */
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

/** The file system's log, and a last part that was too small for it to use. */
const slackMb = (sizeMb: number): number => 96 + sizeMb / 1000;

/** Asked of the mounted file system, not of the file: a crash may have left it larger than what is in it. */
export async function isGrown(volume: string, sizeMb: number): Promise<boolean> {
  const { blocks, bsize } = await statfs(volume);
  return blocks * bsize >= (sizeMb - slackMb(sizeMb)) * mb;
}
