import { createHash } from "node:crypto";
import { chown, mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeDurably } from "../durable-file.ts";
import type { NodePaths } from "../host-paths.ts";
import type { NodeContext } from "../node-context.ts";
import { recordKeyringSent, timelineRecord, updateTimeline } from "../node-state.ts";
import { CannotHeal } from "../podman.ts";
import { exists } from "../volume.ts";

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
export async function prepareKeyring({ spec, paths, keyringOf }: NodeContext): Promise<void> {
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
export async function sendKeyring({ spec, paths, sendKeyring: send }: NodeContext): Promise<void> {
  // Left by a server that died while writing its keys; it repairs them when it starts.
  if (await exists(`${keyringFile(paths)}.backup`)) throw new Error("The server is writing its encryption keys.");
  await sync(keyringFile(paths));
  await sync(paths.keyring);
  const keys = await readKeys(paths);
  if (keys === undefined) throw new Error("The server created no encryption keys.");
  if ((await timelineRecord(paths)).keyring_sent === fingerprint(keys)) return;
  await send(spec.node, keys);
  await recordKeyringSent(paths, fingerprint(keys));
}

/** An empty file, which a server began to write or somebody truncated, counts as no keys. */
async function readKeys(paths: NodePaths): Promise<Buffer | undefined> {
  const keys = await readFile(keyringFile(paths)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  return keys === undefined || keys.length === 0 ? undefined : keys;
}

const fingerprint = (keys: Buffer): string => createHash("sha256").update(keys).digest("hex");

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
