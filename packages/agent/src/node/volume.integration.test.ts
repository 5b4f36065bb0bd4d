import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { detachLoopDevices, loopDevicesOf } from "./mounts.ts";
import { makeVolume, releaseVolume, type Volume } from "./volume.ts";

const DISK_MB = 512;

function volumeIn(folder: string, name: string): Volume {
  return { image: join(folder, `${name}.img`), volume: join(folder, name) };
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "moorage-volume-"));
  onTestFinished(async () => {
    for (const name of ["made", "kept"]) {
      execFileSync("sh", ["-c", `umount ${join(folder, name)} 2>/dev/null || true`]);
      await detachLoopDevices(volumeIn(folder, name).image);
    }
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A mount namespace like a container's: starts with copies of all mounts, and receives no later changes. */
async function holder(): Promise<ChildProcess> {
  const child = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", "echo held; exec sleep 600"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

test("a volume is renamed and mounted again while another mount namespace holds it", async () => {
  const folder = newFolder();
  const [made, kept] = [volumeIn(folder, "made"), volumeIn(folder, "kept")];
  await makeVolume(made, DISK_MB);
  writeFileSync(join(made.volume, "row"), "1");
  const other = await holder();

  await releaseVolume(made);
  await rename(made.image, kept.image);
  await makeVolume(kept, DISK_MB);

  expect(readFileSync(join(kept.volume, "row"), "utf8")).toBe("1");
  expect(await loopDevicesOf(kept.image)).toHaveLength(1);
  writeFileSync(join(kept.volume, "row"), "2");
  other.kill("SIGKILL");
  await once(other, "exit");
  await releaseVolume(kept);
  await expect.poll(() => loopDevicesOf(kept.image)).toEqual([]);
  await makeVolume(kept, DISK_MB);
  expect(readFileSync(join(kept.volume, "row"), "utf8")).toBe("2");
});

test("a volume is discarded and recreated while another mount namespace holds it", async () => {
  const folder = newFolder();
  const made = volumeIn(folder, "made");
  await makeVolume(made, DISK_MB);
  writeFileSync(join(made.volume, "row"), "1");
  await holder();

  await releaseVolume(made);
  rmSync(made.image);
  await makeVolume(made, DISK_MB);

  expect(existsSync(join(made.volume, "row"))).toBe(false);
  expect(await loopDevicesOf(made.image)).toHaveLength(1);
});

test("a loop device that is detached already while it is being detached is no fault", async () => {
  const folder = newFolder();
  const { image } = volumeIn(folder, "made");
  writeFileSync(image, Buffer.alloc(1024 * 1024));
  execFileSync("losetup", ["--find", image]);
  // Says what the kernel says then. Detached twice in earnest, it could be another program's device the second time.
  const answer = "detach failed: No such device or address";
  writeFileSync(join(folder, "losetup"), `#!/bin/sh\n/usr/sbin/losetup "$@" && echo "${answer}" >&2\nexit 1\n`, {
    mode: 0o755,
  });
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  try {
    await detachLoopDevices(image);
  } finally {
    vi.unstubAllEnvs();
  }

  await expect.poll(() => loopDevicesOf(image)).toEqual([]);
});
