import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bridge, bridgeAddress, bridgeAddress6, netName } from "./addresses.ts";
import { clients } from "./clients.ts";
import type { Host } from "./hosts.ts";
import { repo } from "./paths.ts";
import { attempt, run, runWithInput } from "./run.ts";

const closedFirewall = join(repo, "packages/agent/boot/firewall-closed.nft");

/** `cable` is the end of the link that is on the bridge. */
type Endpoint = {
  namespace: string;
  address: string;
  address6: string;
  cable: string;
  /** Only for hosts, which have a firewall. */
  host?: { privateAddress: string; nodeNetwork: string };
};

const clientEndpoints: Endpoint[] = Object.entries(clients).map(([key, client]) => ({
  ...client,
  cable: netName(`c-${key}`),
}));
export const cableOf = (host: Pick<Host, "number">): string => netName(`h-${host.number}`);
const hostEndpoint = (host: Host): Endpoint => ({
  namespace: host.namespace,
  address: host.address,
  address6: host.address6,
  cable: cableOf(host),
  host,
});

const isThere = (link: string): boolean => existsSync(`/sys/class/net/${link}`);
const namespaces = (): Promise<string[]> => readdir("/run/netns").catch(() => []);

/** Creates the whole network. Every command can be repeated, so a network that was created in part is completed. */
export async function ensureNetwork(hosts: readonly Host[]): Promise<void> {
  if (!isThere(bridge)) await run("ip", ["link", "add", bridge, "type", "bridge"]);
  const endpoints = [...clientEndpoints, ...hosts.map(hostEndpoint)];
  const routed = hosts.map(hostEndpoint);
  await ip([
    `addr replace ${bridgeAddress}/16 dev ${bridge}`,
    `addr replace ${bridgeAddress6}/64 dev ${bridge} nodad`,
    `link set ${bridge} up`,
    ...routes(routed),
  ]);
  const existing = await namespaces();
  for (const endpoint of endpoints) {
    await ensureEndpoint(endpoint, existing.includes(endpoint.namespace));
    const others = routed.filter((other) => other.namespace !== endpoint.namespace);
    await ip(routes(others), endpoint.namespace);
  }
  for (const client of clientEndpoints) await writeResolver(client.namespace);
}

async function ensureEndpoint(endpoint: Endpoint, exists: boolean): Promise<void> {
  const { namespace, address, address6, cable, host } = endpoint;
  if (!exists) await run("ip", ["netns", "add", namespace]);
  const inside = (...command: string[]): Promise<string> => run("ip", ["netns", "exec", namespace, ...command]);
  // Loaded before the link is up, as the boot unit of a real host does. It leaves the agent's own table alone.
  if (host !== undefined && !(await inside("nft", "list", "tables")).includes("table inet moorage\n"))
    await inside("nft", "-f", closedFirewall);
  if (!isThere(cable)) {
    await ip([`link add ${cable} type veth peer name eth0 netns ${namespace}`]);
  }
  await ip([`link set ${cable} master ${bridge} up`]);
  await ip(
    [
      `addr replace ${address}/16 dev eth0`,
      // The same prefix as the bridge: a client on it has one address, so one entry of an allow list covers it.
      ...(host === undefined ? [] : [`addr replace ${host.privateAddress}/16 dev eth0`]),
      // Without duplicate address detection the address is usable at once.
      `addr replace ${address6}/64 dev eth0 nodad`,
      "link set lo up",
      "link set eth0 up",
    ],
    namespace,
  );
  await inside("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
}

const routes = (hosts: readonly Endpoint[]): string[] =>
  hosts.map(({ host, address }) => `route replace ${host?.nodeNetwork} via ${address}`);

const ip = (lines: readonly string[], namespace?: string): Promise<void> =>
  runWithInput("ip", [...(namespace === undefined ? [] : ["-n", namespace]), "-batch", "-"], `${lines.join("\n")}\n`);

const resolverFolder = (namespace: string): string => join("/etc/netns", namespace);

async function writeResolver(namespace: string): Promise<void> {
  await mkdir(resolverFolder(namespace), { recursive: true });
  await writeFile(join(resolverFolder(namespace), "resolv.conf"), `nameserver ${bridgeAddress}\noptions attempts:5\n`);
}

/**
 * Removes the stack's namespaces by name and returns those that could not be removed. Other namespaces on the machine,
 * such as those of an agent under test, are left alone. A host's firewall rules are removed with its namespace; the
 * root namespace has none of them.
 */
export async function removeNetwork(hosts: readonly Host[]): Promise<string[]> {
  const endpoints = [...clientEndpoints, ...hosts.map(hostEndpoint)];
  const spaces = [...(await nodeNamespaces(hosts)), ...endpoints.map((endpoint) => endpoint.namespace)];
  const existing = await namespaces();
  for (const space of spaces.filter((name) => existing.includes(name))) await attempt("ip", ["netns", "del", space]);
  // A link is removed with its namespace, unless a crash left one end alone.
  const links = [...endpoints.map((endpoint) => endpoint.cable), bridge];
  for (const link of links.filter(isThere)) await attempt("ip", ["link", "del", link]);
  for (const { namespace } of clientEndpoints) await rm(resolverFolder(namespace), { recursive: true, force: true });

  const after = await namespaces();
  const leftSpaces = spaces.filter((name) => after.includes(name)).map((name) => `namespace ${name}`);
  return [...leftSpaces, ...links.filter(isThere).map((link) => `link ${link}`)];
}

/** The agent names a node's namespace after the first eight characters of the node's uuid. */
async function nodeNamespaces(hosts: readonly Host[]): Promise<string[]> {
  const folders = hosts.flatMap((host) => ["specs", "nodes", "tombstones"].map((name) => join(host.dir, name)));
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
  return [...new Set(names.flat().map((name) => `moor-n-${name.slice(0, 8)}`))];
}
