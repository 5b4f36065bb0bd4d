import { createHash } from "node:crypto";
import { chown, type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { writeDurably } from "../base/durable-file.ts";
import { openNodeFile, readNodeFile } from "../node/node-files.ts";
import { ownFolder } from "../node/mounts.ts";
import type { HostPaths, NodePaths } from "../base/host-paths.ts";
import type { NodeContext } from "../node/node-context.ts";
import { recordKeyringSent, timelineRecord, updateTimeline } from "../specs/node-state.ts";
import { CannotHeal } from "../node/podman.ts";
import { exists } from "../node/volume.ts";
import { withRoot } from "../mysql/node-sql.ts";

export type KeyringDeps = {
  /** The control plane's copy of a node's encryption keys; undefined if it has none. */
  keyringOf: (node: string) => Promise<Buffer | undefined>;
  sendKeyring: (node: string, keyring: Buffer) => Promise<void>;
};

/** Whether the keys of an encrypted node are on the host's own disk and in the control plane. */
export type KeyringState = "absent" | "unsent" | "right";

export const keyringFile = ({ keyring }: Pick<NodePaths, "keyring">): string => join(keyring, "keyring");

export async function keyringState({ spec, paths }: NodeContext): Promise<KeyringState> {
  if (!spec.database.encrypted) return "right";
  const keys = await readKeys(paths);
  if (keys === undefined) return "absent";
  return (await timelineRecord(paths)).keyring_sent === fingerprint(keys) ? "right" : "unsent";
}

/**
 * A server without a keyring file creates a new one, which decrypts nothing. So lost keys are requested from the
 * control plane before the server starts; only a server that never started has none.
 */
export async function prepareKeyring({ spec, paths, keyringOf }: NodeContext & KeyringDeps): Promise<void> {
  await mkdir(paths.keyring, { recursive: true, mode: 0o700 });
  await chown(paths.keyring, spec.uid, spec.uid);
  const started = spec.data?.origin === "archive" || (await exists(join(paths.data, "auto.cnf")));
  if (!started || (await readKeys(paths)) !== undefined) return;
  const keys = await keyringOf(spec.node);
  if (keys === undefined)
    throw new CannotHeal(`The encryption keys of this node are lost: neither ${keyringFile(paths)} nor a copy exists.`);
  await writeDurably(keyringFile(paths), keys, 0o600, spec.uid);
  await updateTimeline(paths, { keyring_sent: fingerprint(keys) });
}

/** Sent before a tenant writes anything with the keys: from then on losing this host's disk alone loses no data. */
export async function sendKeyring({ spec, paths, sendKeyring: send }: NodeContext & KeyringDeps): Promise<void> {
  // Left by a server that died while writing its keys; it repairs them when it starts.
  if (await exists(`${keyringFile(paths)}.backup`)) throw new Error("The server is writing its encryption keys.");
  await sync(await openNodeFile(keyringFile(paths)));
  await sync(await open(paths.keyring, "r"));
  const keys = await readKeys(paths);
  if (keys === undefined) throw new Error("The server created no encryption keys.");
  if ((await timelineRecord(paths)).keyring_sent === fingerprint(keys)) return;
  await send(spec.node, keys);
  await recordKeyringSent(paths, fingerprint(keys));
}

/** An empty file, which a server began to write or somebody truncated, counts as no keys. */
async function readKeys(paths: NodePaths): Promise<Buffer | undefined> {
  const keys = await readNodeFile(keyringFile(paths));
  return keys === undefined || keys.length === 0 ? undefined : keys;
}

const fingerprint = (keys: Buffer): string => createHash("sha256").update(keys).digest("hex");

async function sync(file: FileHandle | undefined): Promise<void> {
  try {
    await file?.sync();
  } finally {
    await file?.close();
  }
}

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
  `${keyring}:/keyring:${ownFolder}`,
];

/** For every server with encrypted data, throw-away servers included. */
export const encryptionSettings = `# Nothing that a tenant wrote reaches a disk in clear (ADR 0011).
default_table_encryption = ON
table_encryption_privilege_check = ON
innodb_redo_log_encrypt = ON
innodb_undo_log_encrypt = ON
binlog_encryption = ON
`;

/**
 * Encrypts the tables of the prepared directory, which was built without keys. Not in the binary log: every server does
 * it for itself. A server that dies in the middle continues when it starts.
 */
export const encryptServer = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [clear] = await connection.query<RowDataPacket[]>(
      `SELECT name FROM information_schema.innodb_tablespaces
       WHERE encryption <> 'Y' AND name IN ('mysql', 'sys/sys_config')`,
    );
    await connection.query("SET SESSION sql_log_bin = 0");
    for (const { name } of clear) await connection.query(encrypted[name as keyof typeof encrypted]);
  });

const encrypted = {
  mysql: "ALTER TABLESPACE mysql ENCRYPTION = 'Y'",
  "sys/sys_config": "ALTER TABLE sys.sys_config ENCRYPTION = 'Y'",
};
