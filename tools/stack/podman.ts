import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Host, runFolderOf } from "./hosts.ts";
import { imageStore, podmanEnv } from "./image-store.ts";
import { attempt } from "./run.ts";

/** All options are on the command line: conmon starts podman with the same options when a container ends. */
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
