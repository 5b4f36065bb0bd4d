import { type NodeSpec, readOnlyPortOf } from "@moorage/contract/agent";
import { ownMember } from "../specs/member.ts";

export type HaproxyConfigInput = { spec: NodeSpec; socket: string; checkPort: number; hasIpv6: boolean };

/** A proxy's two backends: the primary, and the secondaries. */
export const backends = ["primary", "read"] as const;
export type Backend = (typeof backends)[number];

/** The gatekeeper's port for HAProxy's agent-check: the one after its HTTP port. */
export const agentCheckPortOf = (check: number): number => check + 1;

export const serverNameOf = (ordinal: number): string => `m${ordinal}`;

/** The addresses of all members as seen from this host: its own by the node's address, the others by their hosts'. */
export function serverAddresses(spec: NodeSpec): { server: string; address: string; port: number; isOwn: boolean }[] {
  const member = ownMember(spec);
  if (member === undefined) return [];
  const { cluster, own, peerPort } = member;
  return cluster.members.map((each) => {
    const isOwn = each === own;
    return {
      server: serverNameOf(each.ordinal),
      address: isOwn ? spec.network.address : each.address,
      port: peerPort,
      isOwn,
    };
  });
}

/** Of the two checks below. */
export const proxyChecks = { agentEveryMs: { primary: 1000, read: 2000 }, everyMs: 1000, fall: 4, timeoutMs: 800 };

/**
 * Written once, for a process that is never reloaded. HAProxy runs two checks against the gatekeeper on loopback:
 *
 * - agent-check: may clients be forwarded to this member? Only an answer has an effect: `down` ends the sessions. The
 *   gatekeeper pushes changes through the runtime socket at once; this check catches what was missed.
 * - check: is the gatekeeper running? After 4 s without an answer every member is down. So a restart of the gatekeeper
 *   goes unnoticed, and a gatekeeper that stays away closes the proxy.
 *
 * A new HAProxy process takes every member for up. Therefore the primary backend rejects connections unless exactly one
 * member is up, and the read backend while more than two are.
 */
export function haproxyConfig({ spec, socket, checkPort, hasIpv6 }: HaproxyConfigInput): string {
  const { own } = ownMember(spec) ?? {};
  if (own === undefined) throw new Error("Only a member of a cluster has a proxy.");
  const serverLines = (backend: Backend, everyMs: number) =>
    serverAddresses(spec)
      .map(({ server, address, port, isOwn }) =>
        [
          `  server ${server} ${address}:${port}`,
          // The peers' firewalls accept only this host's cluster address.
          ...(isOwn ? [] : [`source ${own.address}`]),
          `check addr 127.0.0.1 port ${checkPort}`,
          `agent-check agent-addr 127.0.0.1 agent-port ${agentCheckPortOf(checkPort)} agent-inter ${everyMs}ms`,
          `agent-send "${backend} ${spec.node} ${server.slice(1)}\\n"`,
        ].join(" "),
      )
      .join("\n");
  const bind = (port: number) => `  bind 0.0.0.0:${port}${hasIpv6 ? `\n  bind [::]:${port} v6only` : ""}`;
  return `global
  user haproxy
  group haproxy
  nbthread 1
  maxconn 8000
  stats socket ${socket} mode 600 level admin
  stats timeout 10s

defaults
  mode tcp
  # How long a session may be silent is the server's to say.
  timeout client 24d
  timeout server 24d
  timeout connect 2s
  timeout check ${proxyChecks.timeoutMs}ms
  option clitcpka
  option srvtcpka
  clitcpka-idle 60s
  clitcpka-intvl 20s
  srvtcpka-idle 60s
  srvtcpka-intvl 20s
  option httpchk GET /health
  default-server inter ${proxyChecks.everyMs}ms fall ${proxyChecks.fall} rise 1 on-marked-down shutdown-sessions

listen primary
${bind(spec.network.port)}
  tcp-request connection reject unless { nbsrv(primary) eq 1 }
${serverLines("primary", proxyChecks.agentEveryMs.primary)}

listen read
${bind(readOnlyPortOf(spec.network.port))}
  tcp-request connection reject if { nbsrv(read) gt 2 }
  balance roundrobin
${serverLines("read", proxyChecks.agentEveryMs.read)}
`;
}
