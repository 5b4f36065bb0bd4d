import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { admits, type Sources } from "../firewall/sources.ts";
import type { HostPaths } from "../host-paths.ts";
import { hasIpv6 } from "../network.ts";
import { haproxyConfig, serverAddresses, backends } from "./haproxy-config.ts";
import { stopProxy, proxyPaths, proxyPid, startProxy } from "./haproxy-process.ts";
import { queryProxy, readSessions, readServers, type ProxyServer, configureProxy } from "./runtime-socket.ts";

const checkEveryMs = 2000;

/**
 * The gates of this host's members: a process for each, found again by whoever starts an agent. Whom they lead to the
 * gatekeeper tells them; here is only that they run, and know the addresses of their members.
 */
export function createProxies({ host, checkPort, log }: { host: HostPaths; checkPort: number; log: Logger }) {
  const queues = new Map<string, Promise<unknown>>();
  /** A node's gate is looked after by its steps and by the keeper: one at a time. */
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
    log.info({ node: spec.node }, "gate started");
  }

  async function ensureServers(spec: NodeSpec): Promise<void> {
    const { socket } = proxyPaths(host, spec.node);
    const found = readServers(await queryProxy(socket, "show servers state"));
    for (const desired of desiredServers(spec)) {
      if (found.some((server) => isDeepStrictEqual(server, desired))) continue;
      const { backend, server, address, port } = desired;
      // It answers in words, whether it did it or not: what it has afterwards tells.
      log.info(
        { node: spec.node, server, backend, address },
        await queryProxy(socket, `set server ${backend}/${server} addr ${address} port ${port}`),
      );
      // Sessions with the member that was there before.
      await configureProxy(socket, `shutdown sessions server ${backend}/${server}`);
    }
    if (!(await hasServers(spec))) throw new Error("The gate does not lead to the members that it should.");
  }

  async function hasServers(spec: NodeSpec): Promise<boolean> {
    const found = readServers(await queryProxy(proxyPaths(host, spec.node).socket, "show servers state"));
    return desiredServers(spec).every((desired) => found.some((server) => isDeepStrictEqual(server, desired)));
  }

  return {
    /** Runs and knows its members; or ends, if the spec has no gate. */
    apply: (spec: NodeSpec): Promise<void> =>
      oneAtATime(spec.node, async () => {
        if (!hasProxy(spec)) return stopProxy(proxyPaths(host, spec.node));
        await ensureRunning(spec);
        await ensureServers(spec);
      }),
    /** Of a node that is no member it is always as it should be. */
    async isRight(spec: NodeSpec): Promise<boolean> {
      if (spec.cluster === undefined) return true;
      const runs = (await proxyPid(proxyPaths(host, spec.node))) !== undefined;
      if (!hasProxy(spec)) return !runs;
      return runs && (await hasServers(spec).catch(() => false));
    },
    /** The kernel stops their packets already; this tells the clients. Servers know them by their gate's address only. */
    async endSessions({ node }: NodeSpec, sources: Sources): Promise<number> {
      const { socket } = proxyPaths(host, node);
      const sessions = readSessions(await queryProxy(socket, "show sess"));
      const ended = sessions.filter(({ source }) => !admits(sources, source));
      // One that ended by itself meanwhile is refused, and is what was wanted.
      for (const { id } of ended) await queryProxy(socket, `shutdown session ${id}`);
      return ended.length;
    },
    end: (node: string): Promise<void> => oneAtATime(node, () => stopProxy(proxyPaths(host, node))),
    /** A gate leads on to other hosts whatever becomes of its own member: it waits for no step. */
    async keepRunning(specs: () => readonly NodeSpec[], signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        // One that is to go has its gate ended by its own steps, and not started again in between.
        for (const spec of specs().filter((each) => hasProxy(each) && each.tombstone === undefined))
          await oneAtATime(spec.node, async () => {
            // The spec may have gone while others were looked at.
            if (specs().includes(spec)) await ensureRunning(spec);
          }).catch((error: unknown) => log.error({ node: spec.node, error: String(error) }, "a gate does not run"));
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
