import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { ClusterFile } from "./cluster-file.ts";
import type { HostIdentity } from "./identity.ts";
import { connectPeer, isRefusal, type Peer } from "./peer-views.ts";
import type { WatchedCluster } from "./watched-cluster.ts";

const queryEveryMs = 250;

type PeerHost = Pick<ClusterFile["members"][number], "host" | "address">;
type Link = { peer: Peer; end: AbortController; round: Promise<void> };

/** The connections to the hosts of the other members: one for all clusters that are shared with a host. */
export function createPeerLinks(
  clusters: ReadonlyMap<string, WatchedCluster>,
  deps: { identity: () => HostIdentity; port: number; isRevoked: (key: string) => boolean; log: Logger },
) {
  const { identity, log } = deps;
  const links = new Map<string, Link>();

  function unlink(key: string, { peer, end }: Link): void {
    links.delete(key);
    end.abort();
    void peer.close();
  }

  function link(key: string, member: PeerHost): Link {
    const peer = connectPeer(identity(), member, deps);
    const end = new AbortController();
    const round = Promise.withResolvers<void>();
    void keepQuerying(key, { peer, signal: end.signal, answered: round.resolve });
    return { peer, end, round: round.promise };
  }

  async function keepQuerying(
    key: string,
    { peer, signal, answered }: { peer: Peer; signal: AbortSignal; answered: () => void },
  ): Promise<void> {
    while (!signal.aborted) {
      const started = performance.now();
      await queryPeer(key, peer).then(answered, (error: unknown) => {
        log.debug({ error: String(error), peer: key }, "the views of a peer could not be fetched");
        if (isRefusal(error)) answered();
      });
      const rest = Math.max(0, queryEveryMs - (performance.now() - started));
      await sleep(rest, undefined, { signal }).catch(() => {});
    }
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

  return {
    /** Connects to the hosts that the clusters name now, and to no others. */
    update(): void {
      const desired = new Map(
        [...clusters.values()].flatMap((each) => othersOf(each.file())).map((each) => [keyOf(each), each]),
      );
      for (const [key, each] of links) if (!desired.has(key)) unlink(key, each);
      for (const [key, member] of desired) if (!links.has(key)) links.set(key, link(key, member));
    },
    /** Each resolves when its host has answered once. */
    firstRounds: (): Promise<void>[] => [...links.values()].map(({ round }) => round),
    close(): void {
      for (const [key, each] of links) unlink(key, each);
    },
  };
}

/** By the host's name and address. */
const keyOf = ({ host, address }: PeerHost): string => `${host} ${address}`;
const othersOf = ({ node, members }: ClusterFile) => members.filter((member) => member.node !== node);
