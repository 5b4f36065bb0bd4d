import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { enginesDir } from "../../tools/stack/paths.ts";
import { query } from "./records.ts";
import { env } from "./stack-env.ts";

const run = promisify(execFile);
const folder = join(enginesDir, "mysql", "images");

/**
 * Another node image of the same engine version, as for a patch: it has one more file. Built once, kept by its SHA-256.
 */
async function secondImage(): Promise<string> {
  await mkdir(folder, { recursive: true });
  const [made] = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}\.tar\.zst$/.test(name));
  if (made !== undefined) return made.slice(0, 64);
  const work = await mkdtemp(join(folder, "making-"));
  try {
    const tar = join(work, "image.tar");
    await run("zstd", ["-q", "-d", join(enginesDir, "mysql", "image.tar.zst"), "-o", tar]);
    await mkdir(join(work, "etc"));
    await writeFile(join(work, "etc", "moorage-patch"), "a newer image of the same engine\n");
    await run("tar", ["--append", "-f", tar, "--owner=0", "--group=0", "-C", work, "./etc/moorage-patch"]);
    await run("zstd", ["-q", "-1", tar, "-o", `${tar}.zst`]);
    const hash = createHash("sha256");
    await pipeline(createReadStream(`${tar}.zst`), hash);
    const sha256 = hash.digest("hex");
    await rename(`${tar}.zst`, join(folder, `${sha256}.tar.zst`));
    return sha256;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export const imageOf = async (id: number): Promise<string> =>
  (await query<{ image: string }>("select image from databases where id = $1", [id]))[0]?.image ?? "";

/** The one of the drills' two images that the database does not have. */
export async function otherImage(id: number): Promise<string> {
  const second = await secondImage();
  return (await imageOf(id)) === second ? env("MOORAGE_IMAGE") : second;
}
