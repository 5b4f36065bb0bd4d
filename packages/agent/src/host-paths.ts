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
  keyringComponent: join(dir, "keyring-component"),
  /** Where a node's next data are made, and where its restore points are tried. Nothing here is anybody's data yet. */
  restore: join(dir, "restore"),
  verify: join(dir, "verify"),
  /** What the gatekeeper and the agent tell each other, and where the gatekeeper last led to. */
  gatekeeper: {
    clusters: join(dir, "gatekeeper", "clusters"),
    changes: join(dir, "gatekeeper", "changes"),
    lastPrimary: join(dir, "gatekeeper", "last-primary"),
  },
  /** A folder for each gate of a cluster. */
  proxies: join(dir, "proxies"),
  /** Copies on their way to the archive. Nothing here is worth keeping. */
  scratch: join(dir, "scratch"),
});
export type HostPaths = ReturnType<typeof hostPaths>;

/** Each timeline of a node has a volume of its own, by its ordinal. One of them is mounted at `volume`. */
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
  /** A folder for each timeline, with one file `keyring` in it: the keys of an encrypted volume, never on the volume. */
  keyring: join(host.nodes, node, "keyring", `${ordinal}`),
  /** Of an encrypted node: an image, and where it is mounted. */
  temporary: {
    image: join(host.nodes, node, "temporary.img"),
    folder: join(host.nodes, node, "temporary"),
  },
  /** What the server executes before it lets anybody in. */
  startUp: join(host.nodes, node, "run", "start-up.sql"),
  state: join(host.nodes, node, "state.json"),
  /** Of a member: the password by which it replicates from the others. */
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
