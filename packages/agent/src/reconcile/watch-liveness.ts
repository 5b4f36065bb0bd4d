import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { type HostPaths, nodePaths } from "../base/host-paths.ts";
import { isAlive } from "../mysql/node-sql.ts";
import { inhabitants, nodeNetwork } from "../node/network.ts";
import { containerName, isThere, type Podman, settled } from "../node/podman.ts";
import { ownMember } from "../specs/member.ts";
import { type Liveness, livenessOf, type LivenessLimits, type Look, silentSince } from "./judge-liveness.ts";

export type LivenessDeps = {
  host: HostPaths;
  podman: Podman;
  specs: () => readonly NodeSpec[];
  reportOf: (node: string) => NodeReport | undefined;
  limits: LivenessLimits;
  /** The node has another liveness. */
  wake: (node: string) => void;
  log: Logger;
};

const longestPauseMs = 10_000;
/** For a core dump. */
const abortedForMs = 5000;

/** Looks at the server of every node every ten seconds, and kills one that has hung. The usual repair follows. */
export function createLivenessWatch(deps: LivenessDeps) {
  const { podman, limits, log } = deps;
  const since = new Map<string, number>();
  const seen = new Map<string, Liveness>();
  const looking = new Map<string, Promise<void>>();
  const stop = new AbortController();

  async function look(spec: NodeSpec): Promise<Look> {
    const { socket } = nodePaths(deps.host, spec.node);
    if (await isAlive(socket)) return { answers: true, isStarting: false, isOutOfDisk: false };
    // A server makes its socket when it is ready.
    const made = await stat(socket).catch(() => undefined);
    const container = await isThere(podman.client.getContainer(containerName(spec.node)).inspect());
    const startedAt = new Date(container?.State.StartedAt ?? Number.POSITIVE_INFINITY).getTime();
    return {
      answers: false,
      isStarting: !(made !== undefined && made.mtimeMs >= startedAt),
      isOutOfDisk: deps.reportOf(spec.node)?.disk === "read_only",
    };
  }

  async function check(spec: NodeSpec, isInhabited: boolean): Promise<void> {
    const { node } = spec;
    const now = performance.now();
    const silent = isInhabited ? silentSince(since.get(node), await look(spec), now) : undefined;
    if (stop.signal.aborted) return;
    if (silent === undefined) since.delete(node);
    else since.set(node, silent);
    const liveness = livenessOf(silent, now, limits);
    const before = seen.get(node) ?? "responsive";
    seen.set(node, liveness);
    if (liveness !== before) {
      log[liveness === "responsive" ? "info" : "warn"]({ node, liveness }, "the server has another liveness");
      deps.wake(node);
    }
    if (liveness === "hung") await kill(node);
  }

  /** A stopped process takes SIGABRT only when it continues; SIGKILL ends it in any case. */
  async function kill(node: string): Promise<void> {
    const container = podman.client.getContainer(containerName(node));
    log.warn({ node }, "killing a server that does not answer");
    await settled(container.kill({ signal: "SIGABRT" }));
    await sleep(abortedForMs, undefined, { signal: stop.signal }).catch(() => {});
    await settled(container.kill({ signal: "SIGKILL" })).catch(() => {}); // SIGABRT has ended it
  }

  async function checkAll(): Promise<void> {
    const specs = deps.specs().filter(({ tombstone, power }) => tombstone === undefined && power !== "off");
    for (const node of seen.keys()) if (!specs.some((spec) => spec.node === node)) forget(node);
    const networks = specs.map((spec) => nodeNetwork(spec.node, spec.network.address, ownMember(spec)?.own.address));
    const pids = await inhabitants(networks);
    specs.forEach((spec, index) => {
      if (looking.has(spec.node)) return;
      const checking = check(spec, pids[index] !== undefined)
        .catch((error: unknown) => log.warn({ node: spec.node, error: String(error) }, "a server could not be checked"))
        .finally(() => looking.delete(spec.node));
      looking.set(spec.node, checking);
    });
  }

  function forget(node: string): void {
    since.delete(node);
    seen.delete(node);
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      await checkAll().catch((error: unknown) => log.warn({ error: String(error) }, "servers could not be checked"));
      const pauseMs = Math.min(longestPauseMs, limits.reportAfterMs / 2);
      await sleep(pauseMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  let running: Promise<void> | undefined;
  return {
    of: (node: string): Liveness => seen.get(node) ?? "responsive",
    /** The server has ended: what was known is about another one. */
    forget,
    start: () => (running ??= run()),
    async close(): Promise<void> {
      stop.abort();
      await running;
      await Promise.all(looking.values());
    },
  };
}
