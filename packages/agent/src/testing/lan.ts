import { sh } from "./test-host.ts";

/**
 * A network between hosts, for their members. Each host has two addresses on it, of which `address` is the second: a
 * packet sent from the first is not from a member's host.
 */
export function makeLan(name: string, subnet: string, namespaces: readonly string[]) {
  // Leftovers of a killed run would be in the way.
  sh(`ip link delete ${name} 2>/dev/null; ip netns delete ${name} 2>/dev/null
    ip netns add ${name} && ip -n ${name} link add lan type bridge && ip -n ${name} link set lan up`);
  const first = (index: number): string => `${subnet}.${10 + index}`;
  const address = (index: number): string => `${subnet}.${110 + index}`;
  const plug = (index: number): string =>
    sh(`ip -n ${name} link add p${index} type veth peer name lan0 netns ${namespaces[index]} &&
      ip -n ${name} link set p${index} master lan up &&
      ip -n ${namespaces[index]} addr add ${first(index)}/24 dev lan0 &&
      ip -n ${namespaces[index]} addr add ${address(index)}/24 dev lan0 && ip -n ${namespaces[index]} link set lan0 up`);
  namespaces.forEach((_, index) => plug(index));
  const forwarding = (index: number, state: 0 | 3): string =>
    sh(`ip netns exec ${name} bridge link set dev p${index} state ${state}`);
  return {
    address,
    first,
    /** After the host's namespace was recreated. */
    plug,
    /** Drops all packets; neither end sees its link go down. */
    cut: (index: number) => forwarding(index, 0),
    heal: (index: number) => forwarding(index, 3),
    /** The test takes the place of a host: the others reach the test's own processes at its address. */
    takePlaceOf(index: number): void {
      forwarding(index, 0);
      sh(`ip link add ${name} type veth peer name x netns ${name} && ip -n ${name} link set x master lan up &&
        ip addr add ${address(index)}/24 dev ${name} && ip link set ${name} up`);
      for (const namespace of namespaces) sh(`ip -n ${namespace} neigh flush dev lan0`);
    },
    close: () => sh(`ip netns delete ${name}`),
  };
}
export type Lan = ReturnType<typeof makeLan>;
