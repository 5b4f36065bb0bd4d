import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "./run-command.ts";

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
