import { type NodeSpec, readOnlyPortOf } from "@moorage/contract/agent";
import { ownMember } from "../member.ts";
import { address6Of } from "../network.ts";
import { databasePorts, type Opening, type Peering } from "./ruleset.ts";
import { readSources } from "./sources.ts";

/** A cluster member's ports lead to its proxy, which forwards to the primary or to secondaries. */
export function openingsOf(spec: NodeSpec): Opening[] {
  const { node, network, firewall, power, cluster } = spec;
  const { address, port } = network;
  const isReplaced = cluster !== undefined && ownMember(spec) === undefined;
  if (firewall === undefined || power === "off" || isReplaced) return [];
  requireDatabasePort(port);
  const sources = readSources(firewall.sources);
  if (cluster === undefined) return [{ node, port, to: { address, address6: address6Of(address) }, sources }];
  return [port, readOnlyPortOf(port)].map((each) => ({ node, port: each, sources }));
}

export function peeringOf(spec: NodeSpec): Peering | undefined {
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
