import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Asks the kernel, without a process: is something mounted exactly here? */
export async function isMountPoint(path: string): Promise<boolean> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  return table.split("\n").some((line) => line.split(" ")[4] === path.replaceAll(" ", "\\040"));
}

/** The loop devices on a file: none, or one, or more after a crash between attaching and mounting. */
export async function loopDevicesOf(file: string): Promise<string[]> {
  const devices = (await readdir("/sys/block")).filter((name) => name.startsWith("loop"));
  const backing = await Promise.all(
    devices.map((name) => readFile(join("/sys/block", name, "loop/backing_file"), "utf8").catch(() => "")),
  );
  return devices.filter((_, index) => backing[index]?.trim() === file).map((name) => `/dev/${name}`);
}
