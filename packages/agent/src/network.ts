import { readdirSync, readlinkSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { isMountPoint } from "./mounts.ts";
import { runCommand } from "./run-command.ts";

/**
 * A node has a network namespace of its own, joined to its host's by a veth pair and one /32 route. The namespace
 * outlives the container, so the address answers (with a reset) while mysqld is down, instead of vanishing.
 */
export type NodeNetwork = { namespace: string; path: string; link: string; address: string };

export function nodeNetwork(node: string, address: string): NodeNetwork {
  const short = node.slice(0, 8);
  return { namespace: `moor-n-${short}`, path: `/run/netns/moor-n-${short}`, link: `mn-${short}`, address };
}

// The node's way out; each veth's host end has this address.
const gateway = "169.254.1.1";

export async function makeNetwork(network: NodeNetwork): Promise<void> {
  const { namespace, path, link, address } = network;
  const first: string[] = [];
  if (!(await isMountPoint(path))) {
    await rm(path, { force: true }); // a name without a namespace, left by a crash
    first.push(`netns add ${namespace}`);
  }
  if (!(await linkIsThere(link))) first.push(`link add ${link} type veth peer name eth0 netns ${namespace}`);
  first.push(`link set ${link} up`, `addr replace ${gateway}/32 dev ${link} scope link`);
  await runCommand("ip", ["-batch", "-"], lines(first));
  await runCommand(
    "ip",
    ["-n", namespace, "-batch", "-"],
    lines([
      "link set lo up",
      `addr replace ${address}/32 dev eth0`,
      "link set eth0 up",
      `route replace ${gateway}/32 dev eth0 scope link`,
      `route replace default via ${gateway} dev eth0`,
    ]),
  );
  // Last, because networkId takes it as the sign that all before it is there.
  await runCommand("ip", ["route", "replace", `${address}/32`, "dev", link]);
}

export async function removeNetwork({ namespace, path, link }: NodeNetwork): Promise<void> {
  if (await linkIsThere(link)) await runCommand("ip", ["link", "delete", link]);
  if (await isMountPoint(path)) await runCommand("ip", ["netns", "delete", namespace]);
  await rm(path, { force: true });
}

/** The namespace's own number, when namespace, link and route are all there. Reads only; no process. */
export async function networkId({ path, link, address }: NodeNetwork): Promise<number | undefined> {
  if (!(await isMountPoint(path)) || !(await routeIsThere(link, address))) return undefined;
  return (await stat(path)).ino;
}

/**
 * Whether any process lives in the namespace. Asked of the kernel: podman goes on believing in a process that died
 * together with its monitor.
 */
export async function isInhabited({ path }: NodeNetwork): Promise<boolean> {
  const inode = await stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
  return inode !== undefined && readdirSync("/proc").some((entry) => namespaceOf(entry) === `net:[${inode}]`);
}

function namespaceOf(entry: string): string | undefined {
  if (!/^\d+$/.test(entry)) return undefined;
  try {
    return readlinkSync(`/proc/${entry}/ns/net`);
  } catch {
    return undefined; // it ended meanwhile
  }
}

/** Packets to nodes pass through the host's namespace; /proc/sys/net is the one that this process is in. */
export async function allowForwarding(): Promise<void> {
  await mkdir("/run/netns", { recursive: true });
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");
}

async function linkIsThere(link: string): Promise<boolean> {
  const table = await readFile("/proc/self/net/dev", "utf8");
  return table.split("\n").some((line) => line.trim().startsWith(`${link}:`));
}

async function routeIsThere(link: string, address: string): Promise<boolean> {
  const inKernelOrder = address.split(".").reverse();
  const hex = inKernelOrder.map((part) => Number(part).toString(16).padStart(2, "0").toUpperCase()).join("");
  const table = await readFile("/proc/self/net/route", "utf8");
  return table.split("\n").some((line) => line.startsWith(`${link}\t${hex}\t`));
}

const lines = (commands: readonly string[]): string => `${commands.join("\n")}\n`;
