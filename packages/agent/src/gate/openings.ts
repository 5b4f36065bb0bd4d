import { type NodeSpec, readOnlyPortOf } from "@moorage/contract/agent";
import { ownMember } from "../member.ts";
import { address6Of } from "../network.ts";
import { gatePorts, type Opening, type Peering } from "./ruleset.ts";
import { readSources } from "./sources.ts";

/** A member's ports lead to its gate's process, which knows where the primary and the secondaries are. */
export function openingsOf(spec: NodeSpec): Opening[] {
  const { node, network, gate, power, cluster } = spec;
  const { address, port } = network;
  const isReplaced = cluster !== undefined && ownMember(spec) === undefined;
  if (gate === undefined || power === "off" || isReplaced) return [];
  requireGatePort(port);
  const sources = readSources(gate.sources);
  if (cluster === undefined) return [{ node, port, to: { address, address6: address6Of(address) }, sources }];
  return [port, readOnlyPortOf(port)].map((each) => ({ node, port: each, sources }));
}

export function peeringOf(spec: NodeSpec): Peering | undefined {
  const member = ownMember(spec);
  if (member === undefined) return undefined;
  requireGatePort(spec.network.port);
  const { own, others, peerPort } = member;
  return {
    node: spec.node,
    port: peerPort,
    address: spec.network.address,
    own: own.address,
    others: others.map(({ address }) => address),
  };
}

function requireGatePort(port: number): void {
  if (port < gatePorts.first || port > gatePorts.last)
    throw new Error(`Port ${port} is not one of the gates' (${gatePorts.first} to ${gatePorts.last}).`);
}
