import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "../base/run-command.ts";

/** For file systems that a node's user can write to: below them, the host's processes follow no symbolic link either. */
export const ownFileSystem = "noatime,nodev,nosuid,noexec,nosymfollow";

/** The options of a bind mount of a folder that belongs to the node's user. */
export const ownFolder = "rw,nodev,nosuid,noexec";

/** Reads from the kernel, without a process, whether something is mounted exactly here. */
export async function isMountPoint(path: string): Promise<boolean> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  return table.split("\n").some((line) => line.split(" ")[4] === path.replaceAll(" ", "\\040"));
}

const tryAgainMs = 200;

/** Unmounts everything at this path. `withinMs`: how long to wait for processes that still use it. */
export async function unmount(folder: string, withinMs = 0): Promise<void> {
  const until = performance.now() + withinMs;
  while (await isMountPoint(folder)) {
    try {
      await runCommand("umount", [folder]);
    } catch (error) {
      if (performance.now() >= until) throw error;
      await sleep(tryAgainMs);
    }
  }
}

/** The image file that is mounted exactly here, if the mount is a loop device. */
export async function mountedFile(path: string): Promise<string | undefined> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  // With several mounts on one path, the last one is visible.
  const line = table.split("\n").findLast((each) => each.split(" ")[4] === path.replaceAll(" ", "\\040"));
  const device = line?.split(" ")[2];
  if (device === undefined) return undefined;
  const backing = await readFile(join("/sys/dev/block", device, "loop/backing_file"), "utf8").catch(() => undefined);
  return backing?.trim();
}

/** The loop devices on a file: none, one, or more after a crash between attaching and mounting. */
export async function loopDevicesOf(file: string): Promise<string[]> {
  const devices = (await readdir("/sys/block")).filter((name) => name.startsWith("loop"));
  const backing = await Promise.all(
    devices.map((name) => readFile(join("/sys/block", name, "loop/backing_file"), "utf8").catch(() => "")),
  );
  return devices.filter((_, index) => backing[index]?.trim() === file).map((name) => `/dev/${name}`);
}

const detachTries = 20;

/**
 * Detaches all loop devices of a file. Another mount namespace, such as that of a container that has just started, may
 * hold a mount that is gone here, and the device with it; it is detached when the last holder ends. Nothing waits for
 * that for more than a second: the file can still be renamed and removed, and mounted again through the same device.
 */
export async function detachLoopDevices(file: string): Promise<void> {
  const detach = (device: string) => runCommand("losetup", ["--detach", device]);
  const results = await Promise.allSettled((await loopDevicesOf(file)).map(detach));
  let attached = await loopDevicesOf(file);
  for (let tries = 0; tries < detachTries && attached.length > 0; tries++) {
    await sleep(50);
    attached = await loopDevicesOf(file);
  }
  // A device whose last holder ends just now refuses to be detached, because that happens already.
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined && attached.length > 0) throw failed.reason;
}
