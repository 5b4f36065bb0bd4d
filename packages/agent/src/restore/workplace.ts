import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { releaseTemporary } from "../encryption/temporary.ts";
import type { HostPaths } from "../host-paths.ts";
import { type Podman, settled } from "../podman.ts";
import { releaseVolume } from "../volume.ts";

export type Purpose = "restore" | "verify";

/**
 * Where data are made from the archive: a volume under a name that no node's has, and a folder with what a throw-away
 * server needs. One of each purpose for a node, so that what a crash leaves is known by its name.
 */
export function workplace(host: HostPaths, node: string, purpose: Purpose) {
  const folder = join(host[purpose], node);
  return {
    folder,
    image: join(host.volumes, `${node}.${purpose}`),
    volume: join(folder, "volume"),
    data: join(folder, "volume", "data"),
    fixedConfig: join(folder, "volume", "fixed.cnf"),
    run: join(folder, "run"),
    // Short: a socket's path has 107 characters at most.
    socket: join(folder, "run", "sql.sock"),
    replay: join(folder, "run", "replay"),
    config: join(folder, "my.cnf"),
    keyring: join(folder, "keyring"),
    temporary: { image: join(host.volumes, `${node}.${purpose}-temporary`), folder: join(folder, "temporary") },
    container: `moorage-${purpose}-${node}`,
  };
}
export type Workplace = ReturnType<typeof workplace>;

/** Repeatable, and right whatever of it is there. */
export async function clearWorkplace({ client }: Podman, work: Workplace): Promise<void> {
  await settled(client.getContainer(work.container).remove({ force: true }));
  await releaseVolume(work);
  await releaseTemporary(work.temporary);
  for (const file of [work.image, `${work.image}.tmp`]) await rm(file, { force: true });
  await rm(work.folder, { recursive: true, force: true });
}

/** Whoever waits for the throw-away server does not wait longer than `signal` allows. */
export function endServerWith(signal: AbortSignal, { client }: Podman, { container }: Workplace): void {
  const end = () => settled(client.getContainer(container).remove({ force: true })).catch(() => {});
  signal.addEventListener("abort", () => void end(), { once: true });
}

const purposes: readonly Purpose[] = ["restore", "verify"];

/** Of one node, or of all: whatever an agent that died was making is made anew by the next one, if it is still wanted. */
export async function removeLeftovers(
  { host, podman }: { host: HostPaths; podman: Podman },
  node?: string,
): Promise<void> {
  for (const purpose of purposes) {
    const nodes = node === undefined ? await readdir(host[purpose]) : [node];
    for (const each of nodes) await clearWorkplace(podman, workplace(host, each, purpose));
  }
}
