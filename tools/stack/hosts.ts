import { inNetwork4, inNetwork6, netName } from "./addresses.ts";
import { inStack } from "./paths.ts";
import { slot, volatileDir } from "./slot.ts";
import { join } from "node:path";

/** A simulated database host: a network namespace with its own podman and agent. */
export type Host = {
  number: number;
  name: string;
  namespace: string;
  address: string;
  address6: string;
  /** The host's address on the private network, which is the same bridge here. */
  privateAddress: string;
  nodeNetwork: string;
  dir: string;
  podmanSocket: string;
};

/** More hosts would need node networks of the next slot. */
export const mostHosts = slot === 0 ? 200 : 100;

/**
 * Node networks are consecutive /20 of 10.128.0.0/9. The second byte counts up from 128; two hundred hosts take 13 of
 * its values, and the hundred hosts of a named stack take 7.
 */
function nodeNetwork(number: number): string {
  const first = slot === 0 ? 128 : 141 + 7 * (slot - 1);
  const block = (number - 1) * 16;
  return `10.${first + Math.floor(block / 256)}.${block % 256}.0/20`;
}

export const hostOf = (number: number): Host => ({
  number,
  name: `host-${number}`,
  namespace: netName(`host-${number}`),
  address: inNetwork4(0, 10 + number),
  address6: inNetwork6("a", number),
  privateAddress: inNetwork4(2, 10 + number),
  nodeNetwork: nodeNetwork(number),
  dir: inStack("hosts", String(number)),
  podmanSocket: inStack("hosts", String(number), "podman.sock"),
});

export const hostsUpTo = (count: number): Host[] => Array.from({ length: count }, (_, index) => hostOf(index + 1));

/** The disk files of the host's compute instances, the only files that its agent may capture. */
export const disksOf = (host: Host): string => join(host.dir, "disks");

export const runFolderOf = (host: Host): string => join(volatileDir, host.name);
