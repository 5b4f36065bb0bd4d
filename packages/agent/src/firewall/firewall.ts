import { setInterval as every } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type NodeSpec, readOnlyPortOf } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { createRuleTable, type DesiredRules } from "./rule-table.ts";
import { databasePorts, type Opening, type Peering } from "./ruleset.ts";
import { readSources, type Sources } from "./sources.ts";
import { ownMember } from "../specs/member.ts";
import { address6Of } from "../node/network.ts";

/** Including the time for a check and a repair, a manual change is reverted within 10 s. */
const verifyEveryMs = 8000;

/**
 * The host's firewall: one nftables table, written only from specs on the disk and verified periodically. If the table
 * cannot be verified, all ports are closed.
 */
export function createFirewall({ log }: { log: Logger }) {
  const stop = new AbortController();
  /** Specs whose rules are in force and whose disallowed sessions have ended. */
  const vouched = new Map<string, NodeSpec>();
  // Every node then reports that its firewall is not applied, because nothing is vouched for any more.
  const table = createRuleTable({ log, lost: () => vouched.clear() });

  // Two concurrent writers would each start from a table that the other is changing.
  let last: Promise<unknown> = Promise.resolve();
  function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  }

  async function removeOpenings(isToGo: (opening: Opening) => boolean): Promise<void> {
    for (const opening of table.desired().openings.values()) if (isToGo(opening)) await table.remove(opening);
  }

  async function keepVerifying(): Promise<void> {
    try {
      for await (const _ of every(verifyEveryMs, undefined, { signal: stop.signal })) await oneAtATime(table.verify);
    } catch {
      // closed
    }
  }

  let verifying: Promise<void> | undefined;
  return {
    /** Works from the disk alone. */
    async start(specs: readonly NodeSpec[]): Promise<void> {
      await oneAtATime(() => table.start(rulesOf(specs, log)));
      verifying = keepVerifying();
    },
    /** Applies the spec to the table; the calling step vouches for the spec once all of its work is done. */
    async open(spec: NodeSpec): Promise<Sources> {
      const ofNode = openingsOf(spec);
      await oneAtATime(async () => {
        await removeOpenings(
          ({ node, port }) => node === spec.node && ofNode.every((opening) => opening.port !== port),
        );
        for (const opening of ofNode) await table.add(opening);
      });
      return ofNode[0]?.sources ?? readSources([]);
    },
    async close({ node }: NodeSpec): Promise<void> {
      vouched.delete(node);
      await oneAtATime(() => removeOpenings((opening) => opening.node === node));
    },
    /** Lets a member and its peers reach each other, and nobody else. */
    async allowPeers(spec: NodeSpec): Promise<void> {
      const peering = peeringOf(spec);
      if (peering !== undefined) await oneAtATime(() => table.addPeering(peering));
    },
    allowsPeers(spec: NodeSpec): boolean {
      const peering = peeringOf(spec);
      if (peering === undefined) return true;
      return table.isKnown() && isDeepStrictEqual(table.desired().peerings.get(peering.port), peering);
    },
    async disallowPeers({ node }: NodeSpec): Promise<void> {
      await oneAtATime(async () => {
        for (const peering of table.desired().peerings.values())
          if (peering.node === node) await table.removePeering(peering);
      });
    },
    vouchFor(spec: NodeSpec): void {
      if (table.isKnown()) vouched.set(spec.node, spec);
    },
    isVouchedFor(spec: NodeSpec): boolean {
      const known = vouched.get(spec.node);
      return known !== undefined && isDeepStrictEqual(vouchedParts(known), vouchedParts(spec));
    },
    async stop(): Promise<void> {
      stop.abort();
      await verifying;
      await last;
    },
  };
}
export type Firewall = ReturnType<typeof createFirewall>;

/** A node with a held tombstone keeps serving, unless a live node has the same port. */
function rulesOf(specs: readonly NodeSpec[], log: Logger): DesiredRules {
  const openings = new Map<number, Opening>();
  const peerings = new Map<number, Peering>();
  for (const spec of specs.toSorted((a, b) => Number(!a.tombstone) - Number(!b.tombstone))) {
    try {
      for (const opening of openingsOf(spec)) openings.set(opening.port, opening);
      const peering = peeringOf(spec);
      if (peering !== undefined) peerings.set(peering.port, peering);
    } catch (error) {
      log.error({ node: spec.node, error: String(error) }, "the ports of a node stay closed");
    }
  }
  return { openings, peerings };
}

const vouchedParts = ({ network, firewall, power, cluster }: NodeSpec) => [network, firewall, power, cluster?.members];

/** A cluster member's ports lead to its proxy, which forwards to the primary or to secondaries. */
function openingsOf(spec: NodeSpec): Opening[] {
  const { node, network, firewall, power, cluster } = spec;
  const { address, port } = network;
  const isReplaced = cluster !== undefined && ownMember(spec) === undefined;
  if (firewall === undefined || power === "off" || isReplaced) return [];
  requireDatabasePort(port);
  const sources = readSources(firewall.sources);
  if (cluster === undefined) return [{ node, port, to: { address, address6: address6Of(address) }, sources }];
  return [port, readOnlyPortOf(port)].map((each) => ({ node, port: each, sources }));
}

function peeringOf(spec: NodeSpec): Peering | undefined {
  const member = ownMember(spec);
  if (member === undefined) return undefined;
  requireDatabasePort(spec.network.port);
  const { own, others, peerPort } = member;
  return {
    node: spec.node,
    port: peerPort,
    address: spec.network.address,
    own: own.address,
    others: others.map(({ address }) => address),
  };
}

function requireDatabasePort(port: number): void {
  if (port < databasePorts.first || port > databasePorts.last)
    throw new Error(`Port ${port} is not a database port (${databasePorts.first} to ${databasePorts.last}).`);
}
