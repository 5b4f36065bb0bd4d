import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "./run-command.ts";

/** Asks the kernel, without a process: is something mounted exactly here? */
export async function isMountPoint(path: string): Promise<boolean> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  return table.split("\n").some((line) => line.split(" ")[4] === path.replaceAll(" ", "\\040"));
}

const tryAgainMs = 200;

/** Everything that is mounted here is taken away. `withinMs`: who still uses it is waited for that long. */
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

/** The file whose file system is mounted exactly here, if it is one in a file. */
export async function mountedFile(path: string): Promise<string | undefined> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  // The last one lies on top, if there are several.
  const line = table.split("\n").findLast((each) => each.split(" ")[4] === path.replaceAll(" ", "\\040"));
  const device = line?.split(" ")[2];
  if (device === undefined) return undefined;
  const backing = await readFile(join("/sys/dev/block", device, "loop/backing_file"), "utf8").catch(() => undefined);
  return backing?.trim();
}

/** The loop devices on a file: none, or one, or more after a crash between attaching and mounting. */
export async function loopDevicesOf(file: string): Promise<string[]> {
  const devices = (await readdir("/sys/block")).filter((name) => name.startsWith("loop"));
  const backing = await Promise.all(
    devices.map((name) => readFile(join("/sys/block", name, "loop/backing_file"), "utf8").catch(() => "")),
  );
  return devices.filter((_, index) => backing[index]?.trim() === file).map((name) => `/dev/${name}`);
}
