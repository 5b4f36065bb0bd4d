import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sh } from "../testing/test-host.ts";
import { makeTemporary, releaseTemporary, temporaryFiles } from "./temporary.ts";

const mb = 1024 * 1024;

test("a larger file system replaces one that a server still writes to, and nothing is left behind", async () => {
  const dir = mkdtempSync(join(tmpdir(), "moor-temporary-"));
  const temporary = { image: join(dir, "image"), folder: join(dir, "mounted") };
  const files = temporaryFiles(temporary);
  const totalMb = () => (statfsSync(files).blocks * statfsSync(files).bsize) / mb;
  // Stands for a container's bind mount.
  const held = join(dir, "held");
  try {
    await makeTemporary(temporary, 1024, 200_001);
    await makeTemporary(temporary, 1024, 200_001);
    writeFileSync(join(files, "tmp", "mark"), "MOORmark".repeat(1000));
    sh(`mkdir ${held} && mount --bind ${files} ${held} && mount --make-private ${held} && sync`);
    expect(readFileSync(temporary.image).includes("MOORmark")).toBe(false);

    await makeTemporary(temporary, 2048, 200_001);
    expect(totalMb()).toBeGreaterThan(1900);
    const old = openSync(join(held, "tmp", "mark"), "r+");
    writeSync(old, "still");
    closeSync(old);
    expect(readFileSync(join(held, "tmp", "mark"), "utf8")).toMatch(/^still/);
  } finally {
    sh(`umount ${held} || true`);
    await releaseTemporary(temporary);
    // A container that starts elsewhere on the machine holds all mounts for a moment.
    await expect.poll(() => sh("losetup -a")).not.toContain(dir);
    rmSync(dir, { recursive: true });
  }
});

test("a file system that misses a folder of the server is made anew", async () => {
  const dir = mkdtempSync(join(tmpdir(), "moor-temporary-"));
  const temporary = { image: join(dir, "image"), folder: join(dir, "mounted") };
  const folders = () => readdirSync(temporaryFiles(temporary)).toSorted();
  try {
    await makeTemporary(temporary, 1024, 200_001);
    sh(`rm -r ${join(temporaryFiles(temporary), "innodb")} && mkdir ${join(temporary.folder, "files.tmp")}`);

    await makeTemporary(temporary, 1024, 200_001);

    expect(folders()).toEqual(["archive", "innodb", "tmp"]);
    expect(statSync(join(temporaryFiles(temporary), "archive")).uid).toBe(0);
  } finally {
    await releaseTemporary(temporary);
    rmSync(dir, { recursive: true });
  }
});
