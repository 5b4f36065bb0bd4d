import { createHash, type X509Certificate } from "node:crypto";
import { RevokedKeys } from "@moorage/contract/agent";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import type { HostPaths } from "../base/host-paths.ts";

/** Written by the agent, and read by the gatekeeper, which works while the agent does not. */
export async function readRevokedKeys({ revokedKeys }: HostPaths): Promise<RevokedKeys | undefined> {
  const text = await readIfThere(revokedKeys);
  return text === undefined ? undefined : RevokedKeys.parse(JSON.parse(text));
}

export const saveRevokedKeys = ({ revokedKeys }: HostPaths, keys: RevokedKeys): Promise<void> =>
  writeDurably(revokedKeys, JSON.stringify(keys));

/** As in the list of revoked keys. */
export const keyHashOf = ({ publicKey }: X509Certificate): string =>
  createHash("sha256")
    .update(publicKey.export({ format: "der", type: "spki" }))
    .digest("hex");
