import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { admits, type Sources } from "../gate/sources.ts";
import type { HostPaths } from "../host-paths.ts";
import { hasIpv6 } from "../network.ts";
import { gateConfig, slotAddresses, ways } from "./gate-config.ts";
import { endGate, gatePaths, gatePid, startGate } from "./gate-process.ts";
import { askGate, readSessions, readSlots, type Slot, tellGate } from "./runtime-socket.ts";

const lookEveryMs = 2000;

/**
 * The gates of this host's members: a process for each, found again by whoever starts an agent. Whom they lead to the
 * gatekeeper tells them; here is only that they run, and know the addresses of their members.
 */
export function createClusterGates({ host, checkPort, log }: { host: HostPaths; checkPort: number; log: Logger }) {
  const turns = new Map<string, Promise<unknown>>();
  /** A node's gate is looked after by its steps and by the keeper: one at a time. */
  function alone<T>(node: string, work: () => Promise<T>): Promise<T> {
    const next = (turns.get(node) ?? Promise.resolve()).then(work, work);
    turns.set(
      node,
      next.catch(() => {}),
    );
    return next;
  }

  async function ensureRunning(spec: NodeSpec): Promise<void> {
    const paths = gatePaths(host, spec.node);
    if ((await gatePid(paths)) !== undefined) return;
    await startGate(paths, gateConfig({ spec, socket: paths.socket, checkPort, hasIpv6: hasIpv6() }));
    log.info({ node: spec.node }, "gate started");
  }

  async function ensureSlots(spec: NodeSpec): Promise<void> {
    const { socket } = gatePaths(host, spec.node);
    const found = readSlots(await askGate(socket, "show servers state"));
    for (const wanted of wantedSlots(spec)) {
      if (found.some((slot) => isDeepStrictEqual(slot, wanted))) continue;
      const { way, slot, address, port } = wanted;
      // It answers in words, whether it did it or not: what it has afterwards tells.
      log.info(
        { node: spec.node, slot, way, address },
        await askGate(socket, `set server ${way}/${slot} addr ${address} port ${port}`),
      );
      // Sessions with the member that was there before.
      await tellGate(socket, `shutdown sessions server ${way}/${slot}`);
    }
    if (!(await hasSlots(spec))) throw new Error("The gate does not lead to the members that it should.");
  }

  async function hasSlots(spec: NodeSpec): Promise<boolean> {
    const found = readSlots(await askGate(gatePaths(host, spec.node).socket, "show servers state"));
    return wantedSlots(spec).every((wanted) => found.some((slot) => isDeepStrictEqual(slot, wanted)));
  }

  return {
    /** Runs and knows its members; or ends, if the spec has no gate. */
    apply: (spec: NodeSpec): Promise<void> =>
      alone(spec.node, async () => {
        if (!hasGate(spec)) return endGate(gatePaths(host, spec.node));
        await ensureRunning(spec);
        await ensureSlots(spec);
      }),
    /** Of a node that is no member it is always as it should be. */
    async isRight(spec: NodeSpec): Promise<boolean> {
      if (spec.cluster === undefined) return true;
      const runs = (await gatePid(gatePaths(host, spec.node))) !== undefined;
      if (!hasGate(spec)) return !runs;
      return runs && (await hasSlots(spec).catch(() => false));
    },
    /** The kernel stops their packets already; this tells the clients. Servers know them by their gate's address only. */
    async endSessions({ node }: NodeSpec, sources: Sources): Promise<number> {
      const { socket } = gatePaths(host, node);
      const sessions = readSessions(await askGate(socket, "show sess"));
      const ended = sessions.filter(({ source }) => !admits(sources, source));
      // One that ended by itself meanwhile is refused, and is what was wanted.
      for (const { id } of ended) await askGate(socket, `shutdown session ${id}`);
      return ended.length;
    },
    end: (node: string): Promise<void> => alone(node, () => endGate(gatePaths(host, node))),
    /** A gate leads on to other hosts whatever becomes of its own member: it waits for no step. */
    async keepRunning(specs: () => readonly NodeSpec[], signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        // One that is to go has its gate ended by its own steps, and not started again in between.
        for (const spec of specs().filter((each) => hasGate(each) && each.tombstone === undefined))
          await alone(spec.node, async () => {
            // The spec may have gone while others were looked at.
            if (specs().includes(spec)) await ensureRunning(spec);
          }).catch((error: unknown) => log.error({ node: spec.node, error: String(error) }, "a gate does not run"));
        await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
      }
    },
  };
}
export type ClusterGates = ReturnType<typeof createClusterGates>;

export const hasGate = ({ cluster, gate, power }: NodeSpec): boolean =>
  cluster !== undefined && gate !== undefined && power !== "off";

const wantedSlots = (spec: NodeSpec): Slot[] =>
  ways.flatMap((way) => slotAddresses(spec).map(({ slot, address, port }) => ({ way, slot, address, port })));
