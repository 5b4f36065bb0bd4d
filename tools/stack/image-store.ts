import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withLock } from "./lock.ts";
import { enginesDir, inParts, machineDir } from "./paths.ts";
import { run } from "./run.ts";

export const podmanEnv = { CONTAINERS_CONF: join(import.meta.dirname, "containers.conf") };

/** What bin/setup recorded about the engine: `version`, `sha256` (of the image), `prepared.sha256`. */
export async function engineFact(file: string): Promise<string> {
  const path = join(enginesDir, "mysql", file);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`The MySQL engine lacks ${path}: run bin/setup.`, { cause });
  });
  return text.trim();
}

export const imageStore = (image: string): string => inParts("image-stores", image.slice(0, 16));

/**
 * One image store for the machine, which every host's podman reads as an additional store: 360 MB are unpacked once
 * instead of once per host and stack. The store is complete only if its stamp file exists.
 */
export async function ensureImageStore(image: string): Promise<void> {
  if (!existsSync(stampOf(image))) await withLock("image-store", () => importImage(image));
}

const stampOf = (image: string): string => join(imageStore(image), "complete");

async function importImage(image: string): Promise<void> {
  // Another stack may have created it while this one waited.
  if (existsSync(stampOf(image))) return;
  const store = imageStore(image);
  await rm(store, { recursive: true, force: true });
  const scratch = join(machineDir, "import");
  await mkdir(scratch, { recursive: true });
  const pathOptions = ["--root", store, "--runroot", join(scratch, "run"), "--tmpdir", join(scratch, "tmp")];
  const archive = join(enginesDir, "mysql", "image.tar.zst");
  const tag = `localhost/moorage/mysql:${image}`;
  await run("podman", [...pathOptions, "--storage-driver", "overlay", "import", "--quiet", archive, tag], {
    env: podmanEnv,
  });
  await writeFile(stampOf(image), `${image}\n`);
}
