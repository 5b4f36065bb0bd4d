import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { hostPaths, makeHostFolders } from "../base/host-paths.ts";
import { removeLastPrimary } from "./change-files.ts";
import { type ClusterFile, readClusterFiles } from "./cluster-file.ts";
import { readRevokedKeys } from "../gateway/revoked-keys.ts";
import { type GatekeeperConfig } from "./config.ts";
import { agentCheckPortOf } from "../proxy/haproxy-config.ts";
import { firstIdentity, followIdentity, readIdentity } from "./identity.ts";
import { createPeerLinks } from "./peer-links.ts";
import { servePeers } from "./peer-views.ts";
import { serveProxyChecks } from "./serve-proxy-checks.ts";
import { type WatchedCluster, watchCluster } from "./watched-cluster.ts";

/** The private addresses of this host, at which the other hosts of its clusters know it. */
const addressesOf = (files: readonly ClusterFile[]): string[] => [
  ...new Set(files.flatMap(({ node, members }) => members.find((member) => member.node === node)?.address ?? [])),
];

export type RunningGatekeeper = { close: () => Promise<void> };

export const checkEveryMs = 250;
/** The first round may take this long; then proxies are answered with what is known. */
const firstRoundMs = 1500;

/** Watches the clusters that have a member on this host, and sets where their proxies forward. Decides nothing else. */
export async function startGatekeeper(config: GatekeeperConfig, log: Logger): Promise<RunningGatekeeper> {
  const host = hostPaths(config.dir);
  await makeHostFolders(host);
  const stop = new AbortController();
  let identity = await firstIdentity(host, config.fleetCa, stop.signal);
  const clusters = new Map<string, WatchedCluster>();
  let revoked = new Set<string>();
  const peersOf = { port: config.ports.peers, isRevoked: (key: string): boolean => revoked.has(key) };
  const links = createPeerLinks(clusters, { ...peersOf, identity: () => identity, log });

  /** Connections with hosts whose key was revoked end; the others are made anew. */
  async function followRevocations(): Promise<void> {
    const found = await readRevokedKeys(host).catch(() => undefined);
    if (found === undefined) return;
    const keys = new Set(found.keys);
    if (keys.symmetricDifference(revoked).size === 0) return;
    revoked = keys;
    links.close();
  }

  let sure = false;
  const isSure = (): boolean => sure;

  async function checkClusters(): Promise<void> {
    await followRevocations();
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
    links.update();
    await peers.listenOn(addressesOf(files));
  }

  /** A view is served only to hosts of the same cluster. */
  const viewFor = (node: string, name: string) => {
    const cluster = clusters.get(node);
    return cluster?.file().members.some((member) => member.host === name) ? cluster.own() : undefined;
  };

  const peers = servePeers(identity, viewFor, peersOf);
  let lastFailure = "";
  /** Tried again by the next round: at boot the private address may not be there yet. */
  async function tryToCheck(): Promise<void> {
    const failure = await checkClusters().then(() => "", String);
    if (failure !== "" && failure !== lastFailure) log.error({ error: failure }, "the clusters could not be checked");
    lastFailure = failure;
  }
  await tryToCheck();
  const firstRound = [...[...clusters.values()].map(({ sampled }) => sampled), ...links.firstRounds()];
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
      await tryToCheck();
    }
  }
  const following = followIdentity(
    () => readIdentity(host, config.fleetCa),
    identity,
    (next) => {
      log.info("the host has a new certificate");
      identity = next;
      peers.use(next);
      links.close();
      links.update();
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
      links.close();
      await Promise.all([...clusters.values()].map((cluster) => cluster.close()));
    },
  };
}
