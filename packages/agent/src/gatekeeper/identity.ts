import { setTimeout as sleep } from "node:timers/promises";
import { readIfThere } from "../base/durable-file.ts";
import type { HostPaths } from "../base/host-paths.ts";

/** The host's key and certificate, and the authority that it trusts. The agent requests and renews them. */
export type HostIdentity = { key: string; cert: string; ca: string };

/** Other hosts refuse the old key as soon as the host has enrolled a new one. */
const checkEveryMs = 500;

export async function readIdentity(paths: HostPaths, caFile: string): Promise<HostIdentity | undefined> {
  const [key, cert, ca] = await Promise.all([paths.key, paths.certificate, caFile].map(readIfThere));
  return key === undefined || cert === undefined || ca === undefined ? undefined : { key, cert, ca };
}

/** Waits until the host is enrolled. */
export async function firstIdentity(paths: HostPaths, caFile: string, signal: AbortSignal): Promise<HostIdentity> {
  for (;;) {
    const found = await readIdentity(paths, caFile);
    if (found !== undefined) return found;
    await sleep(checkEveryMs, undefined, { signal });
  }
}

/** Calls `use` with each new identity. */
export async function followIdentity(
  read: () => Promise<HostIdentity | undefined>,
  first: HostIdentity,
  use: (identity: HostIdentity) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = first;
  while (!signal.aborted) {
    await sleep(checkEveryMs, undefined, { signal }).catch(() => {});
    const found = await read().catch(() => undefined);
    if (found === undefined || (found.cert === last.cert && found.key === last.key && found.ca === last.ca)) continue;
    last = found;
    use(found);
  }
}
