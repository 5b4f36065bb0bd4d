import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Where everything of a host is. Nothing else builds these paths. */
export const hostPaths = (dir: string) => ({
  key: join(dir, "host.key"),
  certificate: join(dir, "host.pem"),
  record: join(dir, "host.json"),
  seccomp: join(dir, "seccomp.json"),
  specs: join(dir, "specs"),
  unsupported: join(dir, "unsupported"),
  tombstones: join(dir, "tombstones"),
  volumes: join(dir, "volumes"),
  nodes: join(dir, "nodes"),
  trash: join(dir, "trash"),
});
export type HostPaths = ReturnType<typeof hostPaths>;

export const nodePaths = (host: HostPaths, node: string) => ({
  image: join(host.volumes, `${node}.img`),
  folder: join(host.nodes, node),
  volume: join(host.nodes, node, "volume"),
  data: join(host.nodes, node, "volume", "data"),
  fixedConfig: join(host.nodes, node, "volume", "fixed.cnf"),
  run: join(host.nodes, node, "run"),
  socket: join(host.nodes, node, "run", "mysqld.sock"),
  config: join(host.nodes, node, "my.cnf"),
  tls: join(host.nodes, node, "tls"),
  certificate: join(host.nodes, node, "tls", "server.pem"),
  authorities: join(host.nodes, node, "tls", "ca.pem"),
  state: join(host.nodes, node, "state.json"),
});
export type NodePaths = ReturnType<typeof nodePaths>;

export async function makeHostFolders(paths: HostPaths): Promise<void> {
  for (const folder of [paths.specs, paths.unsupported, paths.tombstones, paths.volumes, paths.nodes, paths.trash])
    await mkdir(folder, { recursive: true, mode: 0o700 });
}
