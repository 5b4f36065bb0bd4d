import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { inParts, repo } from "../../tools/stack/paths.ts";

const run = promisify(execFile);
const program = join(repo, "tests/images/build-debian-disk");

/** A bootable disk, raw and as a tenant compresses it. Built once for each version of the program that builds it. */
export async function debianDisk(): Promise<{ raw: string; packed: string }> {
  const digest = createHash("sha256")
    .update(await readFile(program))
    .digest("hex");
  const raw = inParts("disks", `debian-${digest.slice(0, 16)}.img`);
  const packed = `${raw}.gz`;
  await mkdir(inParts("disks"), { recursive: true });
  if (!existsSync(raw)) {
    await rm(inParts("disks"), { recursive: true });
    await mkdir(inParts("disks"));
    await run(program, [raw]);
  }
  if (!existsSync(packed)) {
    await run("bash", ["-c", 'gzip --fast --stdout "$1" >"$2.new"', "-", raw, packed]);
    await rename(`${packed}.new`, packed);
  }
  return { raw, packed };
}
