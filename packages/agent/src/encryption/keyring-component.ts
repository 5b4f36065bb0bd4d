import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeDurably } from "../durable-file.ts";
import type { HostPaths, NodePaths } from "../host-paths.ts";

const files = (host: HostPaths) => ({
  manifest: join(host.keyringComponent, "mysqld.my"),
  settings: join(host.keyringComponent, "component_keyring_file.cnf"),
});

/** The files beside mysqld's binary that it reads first. The same for every node of the host; no secrets. */
export async function writeKeyringComponent(host: HostPaths): Promise<void> {
  await mkdir(host.keyringComponent, { recursive: true, mode: 0o700 });
  const { manifest, settings } = files(host);
  await writeDurably(manifest, '{"components":"file://component_keyring_file"}\n', 0o644);
  await writeDurably(settings, '{"path":"/keyring/keyring","read_only":false}\n', 0o644);
}

/** The bind mounts for a server's keys; `keyring` is a folder that is not on its volume. */
export const keyringBinds = (host: HostPaths, { keyring }: Pick<NodePaths, "keyring">): string[] => [
  `${files(host).manifest}:/usr/sbin/mysqld.my:ro`,
  `${files(host).settings}:/usr/lib/mysql/plugin/component_keyring_file.cnf:ro`,
  `${keyring}:/keyring:rw`,
];

/** For every server with encrypted data, throw-away servers included. */
export const encryptionSettings = `# Nothing that a tenant wrote reaches a disk in clear (ADR 0011).
default_table_encryption = ON
table_encryption_privilege_check = ON
innodb_redo_log_encrypt = ON
innodb_undo_log_encrypt = ON
binlog_encryption = ON
`;
