/** Below the ephemeral range, and as many ports as a host's /20 has addresses. */
export const FIRST_PORT = 20_000;
const LAST_PORT = 24_093;
const PORTS = LAST_PORT - FIRST_PORT + 1;
/** Shares no factor with the number of ports, so consecutive ids begin far from each other. */
const STRIDE = 2539;

/** A port that nodes of a region have: on how many hosts, and whether one of the chosen hosts is among them. */
export type PortUse = { port: number; hosts: number; isOnChosen: boolean };

/**
 * The port of a new database, the same on all of its hosts. A node is replaced on a host where this port is free, so it
 * is one that few hosts of the region have; equal ones are tried in an order that begins with the database's id.
 * Undefined: none is free on all chosen hosts.
 */
export function choosePort(uses: readonly PortUse[], databaseId: number): number | undefined {
  const hosts = new Float64Array(PORTS);
  for (const use of uses) hosts[use.port - FIRST_PORT] = use.isOnChosen ? Infinity : use.hosts;
  const start = (databaseId * STRIDE) % PORTS;
  const fewest = hosts.reduce((least, each) => Math.min(least, each), Infinity);
  if (fewest === Infinity) return undefined;
  const after = hosts.indexOf(fewest, start);
  return FIRST_PORT + (after === -1 ? hosts.indexOf(fewest) : after);
}
