import { join } from "node:path";
import type { functions as ClientFunctions } from "@moorage/testkit/client-program.ts";
import { clientProgram, startProgram } from "@moorage/testkit/namespace-program.ts";
import type { functions as FirewallFunctions } from "./firewall-program.ts";
import { sh } from "./test-host.ts";

const firewallProgram = join(import.meta.dirname, "firewall-program.ts");
const startClient = (namespace: string) => startProgram<typeof ClientFunctions>(namespace, clientProgram);

/**
 * A host's firewall in its own namespace, and a client on the other end of a cable. The client may send from any
 * address and has routes to the nodes' own addresses, as a neighbour of the host could.
 */
export async function makeFirewallHost(
  name: string,
  subnet: string,
  subnet6: string,
  environment: NodeJS.ProcessEnv = {},
) {
  const [host, client] = [`${name}-h`, `${name}-c`];
  const nodes: string[] = [];
  const programs: { end: () => Promise<void> }[] = [];
  const of = <P extends (typeof programs)[number]>(each: P): P => {
    programs.push(each);
    return each;
  };
  // Leftovers of a killed run would be in the way.
  sh(`ip netns delete ${host} 2>/dev/null; ip netns delete ${client} 2>/dev/null
    ip netns add ${host} && ip netns add ${client} &&
    ip -n ${client} link add up0 type veth peer name up0 netns ${host} &&
    ip -n ${client} addr add ${subnet}.1/30 dev up0 && ip -n ${client} addr add ${subnet6}::1/64 dev up0 nodad &&
    ip -n ${host} addr add ${subnet}.2/30 dev up0 && ip -n ${host} addr add ${subnet6}::2/64 dev up0 nodad &&
    for n in ${host} ${client}; do ip -n $n link set lo up && ip -n $n link set up0 up; done
    ip -n ${host} route add default via ${subnet}.1 && ip -n ${host} route add ::/0 via ${subnet6}::1 &&
    ip -n ${client} route add ${subnet}.64/26 via ${subnet}.2 &&
    ip -n ${client} route add fd6d:6f6f:7261:6765::/64 via ${subnet6}::2 &&
    ip -n ${client} rule add pref 10 to ${subnet}.1 lookup local &&
    ip -n ${client} rule add pref 20 to ${subnet}.0/24 lookup main &&
    ip -n ${client} rule add pref 30 lookup local && ip -n ${client} rule del pref 0 &&
    ip -n ${client} route add local 0.0.0.0/0 dev lo table local &&
    ip netns exec ${client} sysctl -qw net.ipv6.ip_nonlocal_bind=1`);
  const firewall = of(startProgram<typeof FirewallFunctions>(host, firewallProgram, environment));
  await firewall.call("allowForwarding");
  return {
    firewall,
    client: of(startClient(client)),
    address: `${subnet}.2`,
    address6: `${subnet6}::2`,
    clientAddress: `${subnet}.1`,
    clientAddress6: `${subnet6}::1`,
    nodeAddress: (n: number) => `${subnet}.${64 + n}`,
    nft: (command: string) => sh(`ip netns exec ${host} nft ${command}`),
    namespace: host,
    /** A node with a server that sends callers their address. */
    async node(node: string, address: string, hostAddress?: string) {
      nodes.push(node);
      await firewall.call("makeNode", node, address, ...(hostAddress === undefined ? [] : [hostAddress]));
      const server = of(startClient(`moor-n-${node.slice(0, 8)}`));
      await server.call("listen", 3306);
      return server;
    },
    async close(): Promise<void> {
      await Promise.all(programs.map((each) => each.end()));
      for (const each of [...nodes.map((node) => `moor-n-${node.slice(0, 8)}`), host, client])
        sh(`ip netns delete ${each} || true`);
    },
  };
}
export type FirewallHost = Awaited<ReturnType<typeof makeFirewallHost>>;
