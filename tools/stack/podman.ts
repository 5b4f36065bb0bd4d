import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Host, runFolderOf } from "./hosts.ts";
import { enginesDir, inParts, volatileDir } from "./places.ts";
import { attempt, run } from "./run.ts";

export const podmanEnv = { CONTAINERS_CONF: join(import.meta.dirname, "containers.conf") };

/** What bin/setup recorded about the engine: `version`, `sha256` (of the image), `prepared.sha256`. */
export async function engineFact(file: string): Promise<string> {
  const path = join(enginesDir, "mysql", file);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`The MySQL engine lacks ${path}: run bin/setup.`, { cause });
  });
  return text.trim();
}

const imageStore = (image: string): string => inParts("image-stores", image.slice(0, 16));

/**
 * One image store for the machine, read by every host's podman as an additional store: 360 MB are unpacked once, not
 * once per host and stack. It is complete only when its stamp is there.
 */
export async function ensureImageStore(image: string): Promise<string> {
  const store = imageStore(image);
  const stamp = join(store, "complete");
  if (existsSync(stamp)) return store;
  await rm(store, { recursive: true, force: true });
  const scratch = join(volatileDir, "import");
  await mkdir(scratch, { recursive: true });
  const places = ["--root", store, "--runroot", join(scratch, "run"), "--tmpdir", join(scratch, "tmp")];
  const archive = join(enginesDir, "mysql", "image.tar.zst");
  const tag = `localhost/moorage/mysql:${image}`;
  await run("podman", [...places, "--storage-driver", "overlay", "import", "--quiet", archive, tag], {
    env: podmanEnv,
  });
  await writeFile(stamp, `${image}\n`);
  return store;
}

/** All of it on the command line: conmon starts podman again at a container's end with these very options. */
export const podmanOptions = (host: Host, image: string): string[] => [
  "--root",
  join(host.dir, "podman", "root"),
  "--runroot",
  join(runFolderOf(host), "run"),
  "--tmpdir",
  join(runFolderOf(host), "tmp"),
  "--storage-driver",
  "overlay",
  "--storage-opt",
  `overlay.imagestore=${imageStore(image)}`,
];

/** Gives the databases ten seconds to close their files, then removes the containers; their volumes stay. */
export async function removeContainers(host: Host, image: string): Promise<void> {
  if (!existsSync(join(host.dir, "podman", "root"))) return;
  const podman = (...args: string[]): Promise<string> =>
    attempt("podman", [...podmanOptions(host, image), ...args], { env: podmanEnv });
  await podman("stop", "--all", "--time", "10");
  await podman("rm", "--all", "--force", "--time", "0");
}
