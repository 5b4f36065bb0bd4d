import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { admits, type Sources } from "../firewall/sources.ts";
import type { HostPaths } from "../base/host-paths.ts";
import { hasIpv6 } from "../node/network.ts";
import { haproxyConfig, serverAddresses, backends } from "./haproxy-config.ts";
import { stopProxy, proxyPaths, proxyPid, startProxy } from "./haproxy-process.ts";
import { queryProxy, readSessions, readServers, type ProxyServer, configureProxy } from "./runtime-socket.ts";

const checkEveryMs = 2000;

/**
 * The proxies of this host's cluster members: one HAProxy process each, found again by a restarted agent. This module
 * keeps them running and sets their members' addresses; the gatekeeper decides which member they forward to.
 */
export function createProxies({ host, checkPort, log }: { host: HostPaths; checkPort: number; log: Logger }) {
  const queues = new Map<string, Promise<unknown>>();
  /** Both a node's steps and keepRunning manage its proxy: one at a time. */
  function oneAtATime<T>(node: string, work: () => Promise<T>): Promise<T> {
    const next = (queues.get(node) ?? Promise.resolve()).then(work, work);
    queues.set(
      node,
      next.catch(() => {}),
    );
    return next;
  }

  async function ensureRunning(spec: NodeSpec): Promise<void> {
    const paths = proxyPaths(host, spec.node);
    if ((await proxyPid(paths)) !== undefined) return;
    await startProxy(paths, haproxyConfig({ spec, socket: paths.socket, checkPort, hasIpv6: hasIpv6() }));
    log.info({ node: spec.node }, "proxy started");
  }

  async function ensureServers(spec: NodeSpec): Promise<void> {
    const { socket } = proxyPaths(host, spec.node);
    const found = readServers(await queryProxy(socket, "show servers state"));
    for (const desired of desiredServers(spec)) {
      if (found.some((server) => isDeepStrictEqual(server, desired))) continue;
      const { backend, server, address, port } = desired;
      // HAProxy answers with text whether it succeeded or not: the state is checked afterwards.
      log.info(
        { node: spec.node, server, backend, address },
        await queryProxy(socket, `set server ${backend}/${server} addr ${address} port ${port}`),
      );
      // Ends the sessions with the previous member.
      await configureProxy(socket, `shutdown sessions server ${backend}/${server}`);
    }
    if (!(await hasServers(spec))) throw new Error("The proxy does not forward to the members in the spec.");
  }

  async function hasServers(spec: NodeSpec): Promise<boolean> {
    const found = readServers(await queryProxy(proxyPaths(host, spec.node).socket, "show servers state"));
    return desiredServers(spec).every((desired) => found.some((server) => isDeepStrictEqual(server, desired)));
  }

  return {
    /** Starts the proxy and sets its members, or stops it if the spec has no proxy. */
    apply: (spec: NodeSpec): Promise<void> =>
      oneAtATime(spec.node, async () => {
        if (!hasProxy(spec)) return stopProxy(proxyPaths(host, spec.node));
        await ensureRunning(spec);
        await ensureServers(spec);
      }),
    /** Always true for a node outside a cluster. */
    async isRight(spec: NodeSpec): Promise<boolean> {
      if (spec.cluster === undefined) return true;
      const runs = (await proxyPid(proxyPaths(host, spec.node))) !== undefined;
      if (!hasProxy(spec)) return !runs;
      return runs && (await hasServers(spec).catch(() => false));
    },
    /** The kernel already drops their packets; this disconnects the clients. mysqld sees only the proxy's address. */
    async endSessions({ node }: NodeSpec, sources: Sources): Promise<number> {
      const { socket } = proxyPaths(host, node);
      const sessions = readSessions(await queryProxy(socket, "show sess"));
      const ended = sessions.filter(({ source }) => !admits(sources, source));
      // HAProxy refuses an id that ended meanwhile, which is the desired result.
      for (const { id } of ended) await queryProxy(socket, `shutdown session ${id}`);
      return ended.length;
    },
    end: (node: string): Promise<void> => oneAtATime(node, () => stopProxy(proxyPaths(host, node))),
    /** A proxy forwards to other hosts even if its own member is down, so this does not wait for the node's steps. */
    async keepRunning(specs: () => readonly NodeSpec[], signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        // A node's tombstone steps end its proxy; it must not be restarted in between.
        for (const spec of specs().filter((each) => hasProxy(each) && each.tombstone === undefined))
          await oneAtATime(spec.node, async () => {
            // The spec may have been removed while other proxies were checked.
            if (specs().includes(spec)) await ensureRunning(spec);
          }).catch((error: unknown) =>
            log.error({ node: spec.node, error: String(error) }, "a proxy could not be started"),
          );
        await sleep(checkEveryMs, undefined, { signal }).catch(() => {});
      }
    },
  };
}
export type Proxies = ReturnType<typeof createProxies>;

export const hasProxy = ({ cluster, firewall, power }: NodeSpec): boolean =>
  cluster !== undefined && firewall !== undefined && power !== "off";

const desiredServers = (spec: NodeSpec): ProxyServer[] =>
  backends.flatMap((backend) =>
    serverAddresses(spec).map(({ server, address, port }) => ({ backend, server, address, port })),
  );
