import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import ipaddr from "ipaddr.js";
import { isMountPoint } from "./mounts.ts";
import { runCommand } from "../base/run-command.ts";

/**
 * Each node has its own network namespace, connected to the host's by a veth pair and one route per address family. The
 * namespace outlives the container: while mysqld is down, the address answers with a reset instead of vanishing.
 */
export type NodeNetwork = {
  namespace: string;
  path: string;
  link: string;
  address: string;
  address6: string;
  /** The address of a member's host, by which the cluster knows it. The node has it too, so that it reaches itself. */
  hostAddress?: string;
};

export function nodeNetwork(node: string, address: string, hostAddress?: string): NodeNetwork {
  const short = node.slice(0, 8);
  return {
    ...(hostAddress !== undefined && { hostAddress }),
    namespace: `moor-n-${short}`,
    path: `/run/netns/moor-n-${short}`,
    link: `mn-${short}`,
    address,
    address6: address6Of(address),
  };
}

/** Used only on the node's host, to forward connections to it: so it can be derived, and be the same on every host. */
export const address6Of = (address: string): string => ipaddr.IPv6.parse(`fd6d:6f6f:7261:6765::${address}`).toString();

// The node's default gateway; the host end of each veth has these addresses.
const gateway = "169.254.1.1";
const gateway6 = "fe80::1";

/** Set on every packet that the firewall accepted, and on no other. Routes to nodes require it too. */
export const admittedMark = 0x0200_0000;

/** Routing table that marks every node's address unreachable. Used for packets that no firewall rule has admitted. */
const closedTable = 20_000;

export async function makeNetwork(network: NodeNetwork): Promise<void> {
  const { namespace, path, link, address, address6, hostAddress } = network;
  const six = hasIpv6();
  const first = [`route replace unreachable ${address}/32 table ${closedTable}`];
  if (six) first.push(`route replace unreachable ${address6}/128 table ${closedTable}`);
  if (!(await isMountPoint(path))) {
    await rm(path, { force: true }); // a mount point without a namespace, left by a crash
    first.push(`netns add ${namespace}`);
  }
  if (!(await linkIsThere(link))) first.push(`link add ${link} type veth peer name eth0 netns ${namespace}`);
  first.push(`link set ${link} up`, `addr replace ${gateway}/32 dev ${link} scope link`);
  if (six) first.push(`addr replace ${gateway6}/64 dev ${link} nodad`);
  await runCommand("ip", ["-batch", "-"], lines(first));
  await runCommand(
    "ip",
    ["-n", namespace, "-batch", "-"],
    lines([
      "link set lo up",
      ...(hostAddress === undefined ? [] : [`addr replace ${hostAddress}/32 dev lo`]),
      `addr replace ${address}/32 dev eth0`,
      "link set eth0 up",
      `route replace ${gateway}/32 dev eth0 scope link`,
      `route replace default via ${gateway} dev eth0`,
      ...(six ? [`addr replace ${address6}/128 dev eth0 nodad`, `route replace ::/0 via ${gateway6} dev eth0`] : []),
    ]),
  );
  if (six) await runCommand("ip", ["route", "replace", `${address6}/128`, "dev", link]);
  // Last: networkId takes this route as the sign that everything before it exists.
  await runCommand("ip", ["route", "replace", `${address}/32`, "dev", link]);
}

export async function removeNetwork({ namespace, path, link, address, address6 }: NodeNetwork): Promise<void> {
  if (await linkIsThere(link)) await runCommand("ip", ["link", "delete", link]);
  if (await isMountPoint(path)) await runCommand("ip", ["netns", "delete", namespace]);
  await rm(path, { force: true });
  const closed = [`${address}/32`, ...(hasIpv6() ? [`${address6}/128`] : [])].map((to) => `${to} table ${closedTable}`);
  // Created first in case it is missing: deleting a missing route is an error.
  const away = closed.flatMap((route) => [`route replace unreachable ${route}`, `route delete unreachable ${route}`]);
  await runCommand("ip", ["-batch", "-"], lines(away));
}

/** The inode of the namespace if namespace, link and route all exist. Reads only, starts no process. */
export async function networkId({ path, link, address, address6 }: NodeNetwork): Promise<number | undefined> {
  if (!(await isMountPoint(path)) || !(await routeIsThere(link, address))) return undefined;
  if (hasIpv6() && !(await route6IsThere(link, address6))) return undefined;
  return (await stat(path)).ino;
}

/**
 * Whether any process runs in the namespace. Read from the kernel: podman still lists a process that died together
 * with its monitor.
 */
export async function isInhabited({ path }: NodeNetwork): Promise<boolean> {
  const namespace = await namespaceAt(path);
  return namespace !== undefined && readdirSync("/proc").some((entry) => namespaceOf(entry) === namespace);
}

/** One process of each namespace, from a single scan of all processes. */
export async function inhabitants(networks: readonly NodeNetwork[]): Promise<(number | undefined)[]> {
  const pids = new Map(readdirSync("/proc").map((entry) => [namespaceOf(entry), Number(entry)]));
  const namespaces = await Promise.all(networks.map(({ path }) => namespaceAt(path)));
  return namespaces.map((namespace) => (namespace === undefined ? undefined : pids.get(namespace)));
}

const namespaceAt = (path: string): Promise<string | undefined> =>
  stat(path).then(
    ({ ino }) => `net:[${ino}]`,
    () => undefined,
  );

function namespaceOf(entry: string): string | undefined {
  if (!/^\d+$/.test(entry)) return undefined;
  try {
    return readlinkSync(`/proc/${entry}/ns/net`);
  } catch {
    return undefined; // the process has ended
  }
}

/**
 * Packets to nodes pass through the host's namespace; /proc/sys/net is that of this process's namespace. Only packets
 * that a firewall rule admitted are routed: if somebody flushes the whole ruleset, no node is reachable.
 */
export async function allowForwarding(): Promise<void> {
  await mkdir("/run/netns", { recursive: true });
  for (const family of hasIpv6() ? ["-4", "-6"] : ["-4"]) {
    await ensureRule(family, 1000, "from all iif lo lookup main");
    await ensureRule(family, 1001, `from all fwmark 0/0x${admittedMark.toString(16)} lookup ${closedTable}`);
  }
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");
  if (!hasIpv6()) return;
  // A forwarding host ignores router advertisements unless accept_ra is 2.
  for (const name of await readdir(ipv6Settings)) {
    const setting = `${ipv6Settings}/${name}/accept_ra`;
    if ((await readFile(setting, "utf8")).trim() === "1") await writeFile(setting, "2");
  }
  await writeFile(`${ipv6Settings}/all/forwarding`, "1");
}

async function ensureRule(family: string, preference: number, rule: string): Promise<void> {
  const shown = await runCommand("ip", [family, "rule", "show", "pref", `${preference}`]);
  if (shown.includes(rule)) return;
  await runCommand("ip", [family, "rule", "add", "pref", `${preference}`, ...rule.split(" ")]);
}

const ipv6Settings = "/proc/sys/net/ipv6/conf";
export const hasIpv6 = (): boolean => existsSync(ipv6Settings);

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

async function route6IsThere(link: string, address6: string): Promise<boolean> {
  const hex = Buffer.from(ipaddr.parse(address6).toByteArray()).toString("hex");
  const table = await readFile("/proc/self/net/ipv6_route", "utf8");
  return table.split("\n").some((line) => line.startsWith(`${hex} 80 `) && line.endsWith(` ${link}`));
}

const lines = (commands: readonly string[]): string => `${commands.join("\n")}\n`;
