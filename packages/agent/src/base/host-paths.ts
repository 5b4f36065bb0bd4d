import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** All paths of a host. Nothing else builds them. */
export const hostPaths = (dir: string) => ({
  key: join(dir, "host.key"),
  certificate: join(dir, "host.pem"),
  record: join(dir, "host.json"),
  revokedKeys: join(dir, "revoked-keys.json"),
  seccomp: join(dir, "seccomp.json"),
  specs: join(dir, "specs"),
  unsupported: join(dir, "unsupported"),
  tombstones: join(dir, "tombstones"),
  volumes: join(dir, "volumes"),
  nodes: join(dir, "nodes"),
  trash: join(dir, "trash"),
  keyringComponent: join(dir, "keyring-component"),
  /** Where restores build a node's next data, and where restore points are verified. No tenant uses these data yet. */
  restore: join(dir, "restore"),
  verify: join(dir, "verify"),
  /** Files that the gatekeeper and the agent exchange, and the last primary that the gatekeeper forwarded to. */
  gatekeeper: {
    clusters: join(dir, "gatekeeper", "clusters"),
    changes: join(dir, "gatekeeper", "changes"),
    lastPrimary: join(dir, "gatekeeper", "last-primary"),
  },
  /** A folder for each proxy of a cluster. */
  proxies: join(dir, "proxies"),
  /** Copies on their way to the archive. Can be deleted at any time. */
  scratch: join(dir, "scratch"),
});
export type HostPaths = ReturnType<typeof hostPaths>;

/** Each timeline of a node has a volume of its own, named by its ordinal. One of them is mounted at `volume`. */
export const volumeFile = (host: HostPaths, node: string, ordinal: number): string =>
  join(host.volumes, ordinal === 0 ? `${node}.img` : `${node}.${ordinal}.img`);

export const nodePaths = (host: HostPaths, node: string, ordinal = 0) => ({
  ordinal,
  image: volumeFile(host, node, ordinal),
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
  /** A folder for each timeline with one file, `keyring`: the keys of an encrypted volume, never on the volume. */
  keyring: join(host.nodes, node, "keyring", `${ordinal}`),
  /** For the temporary files of an encrypted node: an image and its mount point. */
  temporary: {
    image: join(host.nodes, node, "temporary.img"),
    folder: join(host.nodes, node, "temporary"),
  },
  /** Executed by the server before it accepts connections. The server can read the folder, and not change it. */
  startUp: join(host.nodes, node, "start-up", "start-up.sql"),
  state: join(host.nodes, node, "state.json"),
  /** The password with which a member replicates from the others. */
  groupPassword: join(host.nodes, node, "group-password"),
  scratch: join(host.scratch, node),
});
export type NodePaths = ReturnType<typeof nodePaths>;

export async function makeHostFolders(paths: HostPaths): Promise<void> {
  const { specs, unsupported, tombstones, volumes, nodes, trash, restore, verify, scratch, proxies } = paths;
  const own = [specs, unsupported, tombstones, volumes, nodes, trash, restore, verify, scratch, proxies];
  for (const folder of [...own, ...Object.values(paths.gatekeeper)])
    await mkdir(folder, { recursive: true, mode: 0o700 });
}
