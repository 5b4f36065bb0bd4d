import { bridgeAddress, inNetwork6 } from "./addresses.ts";
import { inStack, volatileDir } from "./places.ts";
import { join } from "node:path";

/** A simulated database host: a network namespace with a podman and an agent of its own. */
export type Host = {
  number: number;
  name: string;
  namespace: string;
  address: string;
  address6: string;
  /** Where its gates are reached from the private network, which is the same bridge here. */
  privateAddress: string;
  nodeNetwork: string;
  dir: string;
  podmanSocket: string;
};

/** Node networks are consecutive /20 of 10.128.0.0/9, whose second and third byte count upwards from 128.0. */
function nodeNetwork(number: number): string {
  const block = (number - 1) * 16;
  return `10.${128 + Math.floor(block / 256)}.${block % 256}.0/20`;
}

export const hostOf = (number: number): Host => ({
  number,
  name: `host-${number}`,
  namespace: `moor-host-${number}`,
  address: `${bridgeAddress.replace(/\.1$/, "")}.${10 + number}`,
  address6: inNetwork6("a", number),
  privateAddress: `10.127.2.${10 + number}`,
  nodeNetwork: nodeNetwork(number),
  dir: inStack("hosts", String(number)),
  podmanSocket: inStack("hosts", String(number), "podman.sock"),
});

export const hostsUpTo = (count: number): Host[] => Array.from({ length: count }, (_, index) => hostOf(index + 1));

/** More would run into the clients' addresses (10.127.1.x). */
export const mostHosts = 200;

/** Where the disks of its compute instances are: files, and the only ones that its agent may capture. */
export const disksOf = (host: Host): string => join(host.dir, "disks");

export const runFolderOf = (host: Host): string => join(volatileDir, host.name);
