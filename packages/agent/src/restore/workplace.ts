import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { releaseTemporary } from "../encryption/temporary.ts";
import type { HostPaths } from "../base/host-paths.ts";
import { type Podman, settled } from "../node/podman.ts";
import { releaseVolume } from "../node/volume.ts";

export type Purpose = "restore" | "verify";

/**
 * Where data are restored: a volume under a name that no node's volume has, and a folder with what a throw-away server
 * needs. One per node and purpose, so that leftovers of a crash are known by name.
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
    // Short: a socket's path has at most 107 characters.
    socket: join(folder, "run", "sql.sock"),
    /** Not in `run`, which belongs to the server's user: root writes to this pipe. */
    replay: join(folder, "replay", "text"),
    config: join(folder, "my.cnf"),
    keyring: join(folder, "keyring"),
    temporary: { image: join(host.volumes, `${node}.${purpose}-temporary`), folder: join(folder, "temporary") },
    container: `moorage-${purpose}-${node}`,
  };
}
export type Workplace = ReturnType<typeof workplace>;

/** Idempotent; works on a partial workplace. */
export async function clearWorkplace({ client }: Podman, work: Workplace): Promise<void> {
  await settled(client.getContainer(work.container).remove({ force: true }));
  await releaseVolume(work);
  await releaseTemporary(work.temporary);
  for (const file of [work.image, `${work.image}.tmp`]) await rm(file, { force: true });
  await rm(work.folder, { recursive: true, force: true });
}

/** Removes the throw-away server when `signal` aborts, so that nobody waits for it any longer. */
export function endServerWith(signal: AbortSignal, { client }: Podman, { container }: Workplace): void {
  const end = () => settled(client.getContainer(container).remove({ force: true })).catch(() => {});
  signal.addEventListener("abort", () => void end(), { once: true });
}

const purposes: readonly Purpose[] = ["restore", "verify"];

/** For one node or all. What a dead agent left is removed; the next agent restores again if it is still desired. */
export async function removeLeftovers(
  { host, podman }: { host: HostPaths; podman: Podman },
  node?: string,
): Promise<void> {
  for (const purpose of purposes) {
    const nodes = node === undefined ? await readdir(host[purpose]) : [node];
    for (const each of nodes) await clearWorkplace(podman, workplace(host, each, purpose));
  }
}
