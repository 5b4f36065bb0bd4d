import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { hostPaths, makeHostFolders } from "../host-paths.ts";
import { removeLastPrimary } from "./change-files.ts";
import { type ClusterFile, readClusterFiles } from "./cluster-file.ts";
import { type GatekeeperConfig, agentCheckPortOf } from "./config.ts";
import { firstIdentity, followIdentity, readIdentity } from "./identity.ts";
import { connectPeer, isRefusal, type Peer, servePeers } from "./peer-views.ts";
import { serveProxyChecks } from "./serve-proxy-checks.ts";
import { type WatchedCluster, watchCluster } from "./watched-cluster.ts";

export type RunningGatekeeper = { close: () => Promise<void> };

const queryEveryMs = 250;
const checkEveryMs = 250;
/** The first round may take this long; then proxies are answered with what is known. */
const firstRoundMs = 1500;

/** Watches the clusters that have a member on this host, and sets where their proxies forward. Decides nothing else. */
export async function startGatekeeper(config: GatekeeperConfig, log: Logger): Promise<RunningGatekeeper> {
  const host = hostPaths(config.dir);
  await makeHostFolders(host);
  const stop = new AbortController();
  let identity = await firstIdentity(host, config.fleetCa, stop.signal);
  const clusters = new Map<string, WatchedCluster>();
  /** By the host's name and address: one connection for all clusters that are shared with it. */
  const links = new Map<string, { peer: Peer; querying: Promise<void>; end: AbortController; round: Promise<void> }>();

  let sure = false;
  const isSure = (): boolean => sure;

  async function checkClusters(): Promise<void> {
    const files = await readClusterFiles(host);
    const desired = new Map(files.map((file) => [file.node, file]));
    for (const [node, cluster] of clusters) {
      const file = desired.get(node);
      if (file !== undefined && file.socket === cluster.file().socket) continue;
      clusters.delete(node);
      void cluster.close();
      if (file === undefined) await removeLastPrimary(host, node).catch(() => {});
    }
    for (const file of files) {
      const watched = clusters.get(file.node);
      if (watched === undefined)
        clusters.set(file.node, watchCluster(file, { host, isSure, log: log.child({ node: file.node }) }));
      else if (!isDeepStrictEqual(watched.file(), file)) watched.update(file);
    }
    relink();
  }

  const keyOf = ({ host: name, address }: { host: string; address: string }): string => `${name} ${address}`;
  const othersOf = ({ node, members }: ClusterFile) => members.filter((member) => member.node !== node);

  function relink(): void {
    const desired = new Map(
      [...clusters.values()].flatMap((each) => othersOf(each.file())).map((each) => [keyOf(each), each]),
    );
    for (const [key, each] of links) if (!desired.has(key)) unlink(key, each);
    for (const [key, member] of desired) if (!links.has(key)) links.set(key, link(key, member));
  }

  function unlink(key: string, { peer, end }: { peer: Peer; end: AbortController }): void {
    links.delete(key);
    end.abort();
    void peer.close();
  }

  function link(key: string, member: { host: string; address: string }) {
    const peer = connectPeer(identity, member, config.ports.peers);
    const end = new AbortController();
    const round = Promise.withResolvers<void>();
    const keepQuerying = async (): Promise<void> => {
      while (!end.signal.aborted) {
        const started = performance.now();
        await queryPeer(key, peer).then(round.resolve, (error: unknown) => {
          log.debug({ error: String(error), peer: key }, "the views of a peer could not be fetched");
          if (isRefusal(error)) round.resolve();
        });
        const rest = Math.max(0, queryEveryMs - (performance.now() - started));
        await sleep(rest, undefined, { signal: end.signal }).catch(() => {});
      }
    };
    return { peer, querying: keepQuerying(), end, round: round.promise };
  }

  async function queryPeer(key: string, peer: Peer): Promise<void> {
    const shared = [...clusters.values()].flatMap((cluster) =>
      othersOf(cluster.file())
        .filter((member) => keyOf(member) === key)
        .map(({ node }) => [node, cluster] as const),
    );
    if (shared.length === 0) return;
    const { at, views } = await peer.views(shared.map(([node]) => node)).catch((error: unknown) => {
      if (isRefusal(error)) for (const [node, cluster] of shared) cluster.refuse(node);
      throw error;
    });
    for (const [node, cluster] of shared)
      for (const { ageMs, kept: _, ...view } of views) if (view.node === node) cluster.take({ at: at - ageMs, view });
  }

  /** A view is served only to hosts of the same cluster. */
  const viewFor = (node: string, name: string) => {
    const cluster = clusters.get(node);
    return cluster?.file().members.some((member) => member.host === name) ? cluster.own() : undefined;
  };

  const peers = servePeers(identity, viewFor, config.ports.peers);
  await peers.listen();
  await checkClusters();
  const firstRound = [...clusters.values()]
    .map(({ sampled }) => sampled)
    .concat([...links.values()].map(({ round }) => round));
  // Proxies without an answer stay as they are: better than a "down" before any member was queried.
  await Promise.race([Promise.all(firstRound), sleep(firstRoundMs)]);
  sure = true;
  const proxyChecks = await serveProxyChecks(
    {
      mayBePrimary: (node, ordinal) => clusters.get(node)?.mayBePrimary(ordinal) ?? false,
      mayServeReads: (node, ordinal) => clusters.get(node)?.mayServeReads(ordinal) ?? false,
      views: (node) => clusters.get(node)?.views(),
    },
    { http: config.ports.check, agentCheck: agentCheckPortOf(config.ports.check) },
  );

  async function keepChecking(): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep(checkEveryMs, undefined, { signal: stop.signal }).catch(() => {});
      await checkClusters().catch((error: unknown) =>
        log.error({ error: String(error) }, "the cluster files could not be read"),
      );
    }
  }
  const following = followIdentity(
    () => readIdentity(host, config.fleetCa),
    identity,
    (next) => {
      log.info("the host has a new certificate");
      identity = next;
      peers.use(next);
      for (const [key, each] of links) unlink(key, each);
      relink();
    },
    stop.signal,
  );
  const background = [keepChecking(), following];

  return {
    async close(): Promise<void> {
      stop.abort();
      proxyChecks.close();
      peers.close();
      await Promise.all(background);
      for (const [key, each] of links) unlink(key, each);
      await Promise.all([...clusters.values()].map((cluster) => cluster.close()));
    },
  };
}
