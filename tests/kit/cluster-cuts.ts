import { bridgeAddress, bridgeAddress6 } from "../../tools/stack/addresses.ts";
import { hostOf } from "../../tools/stack/hosts.ts";
import { cableOf } from "../../tools/stack/network.ts";
import { run, runWithInput } from "../../tools/stack/run.ts";
import type { Member } from "./cluster.ts";

/** The number of a host; 0 is the control plane with all its parts. */
export const CONTROL_PLANE = 0;
export type Party = number;

/** One direction of a link, in which every packet is lost. */
export type Drop = { from: Party; to: Party };

export const bothWays = (one: Party, other: Party): Drop[] => [
  { from: one, to: other },
  { from: other, to: one },
];

const TABLE = "inet drill_cut";

const addressesOf = (party: Party): { four: string[]; six: string } => {
  if (party === CONTROL_PLANE) return { four: [bridgeAddress], six: bridgeAddress6 };
  const { address, privateAddress, address6 } = hostOf(party);
  return { four: [address, privateAddress], six: address6 };
};

/** Rules of a host: drops packets from these parties before any other rule, and the host's own packets to those. */
function tableText(from: readonly Party[], to: readonly Party[]): string {
  const rules = (side: "saddr" | "daddr", parties: readonly Party[]): string =>
    parties
      .map(addressesOf)
      .map(({ four, six }) => `    ip ${side} { ${four.join(", ")} } drop\n    ip6 ${side} ${six} drop\n`)
      .join("");
  return `table ${TABLE} {
  chain arriving {
    type filter hook prerouting priority -310; policy accept;
${rules("saddr", from)}  }
  chain leaving {
    type filter hook output priority -310; policy accept;
${rules("daddr", to)}  }
}
`;
}

/** Removes what an earlier trial left; it is no error if there is nothing. */
const none = (table: string): string => `table ${table}\ndelete table ${table}\n`;
const NONE = none(TABLE);

const load = (host: number, text: string): Promise<void> =>
  runWithInput("ip", ["netns", "exec", hostOf(host).namespace, "nft", "-f", "-"], text);

/**
 * Cuts these directions, with a separate table in the hosts' namespaces. A direction is cut where it arrives; one to
 * the control plane where it leaves, because only hosts are changed.
 */
export async function cut(drops: readonly Drop[], hosts: readonly number[]) {
  const heal = async (): Promise<void> => void (await Promise.all(hosts.map((host) => load(host, NONE))));
  try {
    for (const host of hosts) {
      const from = drops.filter(({ to }) => to === host).map((drop) => drop.from);
      const to = drops.filter((drop) => drop.from === host && drop.to === CONTROL_PLANE).map((drop) => drop.to);
      await load(host, NONE + tableText(from, to));
    }
  } catch (error) {
    await heal();
    throw error;
  }
  return { at: Date.now(), heal, [Symbol.asyncDispose]: heal };
}

const SLOW_TABLE = "inet drill_slow";
/** For both other members together: a few transactions per second. */
const SLOW = "1 kbytes/second";

/**
 * Simulates a full link: packets of a member's server to the other hosts beyond a low rate are dropped, and TCP sends
 * them again. Its own proxy still forwards clients to it, and the hosts still reach each other.
 */
export async function slowDown({ host, peerPort }: Member, others: readonly Member[]) {
  const heal = (): Promise<void> => load(host, none(SLOW_TABLE));
  const to = others.flatMap((other) => addressesOf(other.host).four).join(", ");
  await load(
    host,
    `${none(SLOW_TABLE)}table ${SLOW_TABLE} {
  chain passing {
    type filter hook forward priority -310; policy accept;
    ip daddr { ${to} } tcp sport ${peerPort} limit rate over ${SLOW} burst 1 kbytes drop
  }
}
`,
  );
  return { at: Date.now(), [Symbol.asyncDispose]: heal };
}

/** Unplugs or plugs in a host's cable. */
export const setCable = (host: number, state: "down" | "up"): Promise<string> =>
  run("ip", ["link", "set", "dev", cableOf(hostOf(host)), state]);

/**
 * The hosts that must continue, if that is certain: all of them, or two that reach each other while the third is cut
 * off from both in both directions. In all other cases the engine decides; the only requirement is that nothing is
 * lost.
 */
export function sureMajority(drops: readonly Drop[], hosts: readonly number[]): number[] | undefined {
  const between = drops.filter(({ from, to }) => hosts.includes(from) && hosts.includes(to));
  if (between.length === 0) return [...hosts];
  const cutOff = hosts.filter(
    (host) => between.length === 4 && between.every(({ from, to }) => from === host || to === host),
  );
  return cutOff.length === 1 ? hosts.filter((host) => host !== cutOff[0]) : undefined;
}
