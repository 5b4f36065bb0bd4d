import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import type { Logger } from "pino";
import { type HostPaths, type NodePaths, nodePaths } from "../base/host-paths.ts";
import { mountedFile } from "../node/mounts.ts";
import type { Reporter } from "../gateway/reporter.ts";
import { checkAgainMs, diskDecision, type DiskFacts, emergencyLimitMb } from "./disk-decision.ts";
import { growVolume, mb, reserveMb } from "../node/volume.ts";
import {
  closeToWrites,
  handOver,
  openToWrites,
  serverWrites,
  setStartUp,
  type Space,
  spaceOf,
} from "./server-writes.ts";

export type WatchDeps = {
  host: HostPaths;
  specs: () => NodeSpec[];
  reporter: Pick<Reporter, "setDisk">;
  /** Frees space at no cost to the tenant: purges binary logs that are in the archive. */
  makeRoom?: (node: string) => Promise<void>;
  log: Logger;
};

export const diskSteps = ["agent.disk.close", "agent.disk.open", "agent.disk.grow"] as const;

const tickMs = 100;
/** A server that was writable is queried again after this, in case it was restarted meanwhile. */
const queryAgainMs = 30_000;

/**
 * Checks every mounted volume with statfs, without starting a process, as often as a fast writer makes it necessary.
 * All state can be read again: a restarted agent continues from the file system and the server's own state.
 */
export async function watchDisks(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const due = new Map<string, number>();
  const busy = new Set<string>();
  const writable = new Map<string, number>();

  async function checkDisk(spec: NodeSpec): Promise<void> {
    const { node, resources } = spec;
    const paths = nodePaths(deps.host, node);
    const space = await spaceOf(paths);
    if (space === undefined) return void due.set(node, performance.now() + 1000);
    const planMb = resources.disk_mb;
    const withoutServer = diskDecision({ planMb, ...space, server: undefined });
    const known = withoutServer.state !== "read_only" && performance.now() < (writable.get(node) ?? 0);
    const server = known || spec.power === "off" ? undefined : await writesOf(spec, paths);
    if (server !== undefined && !server.readOnly) writable.set(node, performance.now() + queryAgainMs);
    const decision = diskDecision({ planMb, ...space, server });
    deps.reporter.setDisk(node, { used_disk_mb: space.usedMb, disk: decision.state });
    due.set(node, performance.now() + checkAgainMs(space.freeMb, decision.state));
    if (decision.grow) act(spec, "grow", () => grow(spec, space));
    if (decision.state !== "ok") act(spec, "makeRoom", async () => deps.makeRoom?.(node));
    if (decision.server === "close") act(spec, "close", () => step(diskSteps[0], () => close(spec, paths)));
    if (decision.server === "open") act(spec, "open", () => step(diskSteps[1], () => open(paths)));
    if (decision.server === "hand over") act(spec, "open", () => step(diskSteps[1], () => handOver(paths.socket)));
  }

  /** Never awaited by the checks: while a server is slow to become read-only, its disk may have to grow. */
  function act({ node }: NodeSpec, what: string, work: () => Promise<unknown>): void {
    const name = `${node} ${what}`;
    if (busy.has(name)) return;
    busy.add(name);
    writable.delete(node);
    void work()
      .then((done) => what !== "makeRoom" && deps.log.info({ node, what, done }, "disk"))
      .catch((error: unknown) => deps.log.warn({ node, what, error: String(error) }, "disk"))
      .finally(() => busy.delete(name));
  }

  /** A cluster's node counts as a group member before it joins and after it left. */
  async function writesOf({ cluster }: NodeSpec, { socket }: NodePaths): Promise<DiskFacts["server"]> {
    const server = await serverWrites(socket);
    return server && { ...server, groupMember: server.groupMember || cluster !== undefined };
  }

  // The start-up file is closed before the server and opened after it, so a crash never loses read-only. Members always
  // start closed.
  async function close({ cluster }: NodeSpec, paths: NodePaths): Promise<void> {
    if (cluster === undefined) await setStartUp(paths, "closed");
    await closeToWrites(paths.socket);
  }

  async function open(paths: NodePaths): Promise<void> {
    await openToWrites(paths.socket);
    await setStartUp(paths, "open");
  }

  async function grow({ node, resources }: NodeSpec, { freeMb, totalMb }: Space): Promise<string> {
    const { volume } = nodePaths(deps.host, node);
    const image = await mountedFile(volume);
    if (image === undefined) return "not mounted";
    const targetMb = Math.ceil(totalMb + reserveMb(resources.disk_mb));
    const host = await statfs(deps.host.volumes);
    const hostFreeMb = (host.bavail * host.bsize) / mb;
    if (targetMb > emergencyLimitMb(resources.disk_mb) || hostFreeMb < 4 * reserveMb(resources.disk_mb))
      throw new Error(`The server keeps writing with ${freeMb} MB free, and the volume may not grow further.`);
    await step(diskSteps[2], () => growVolume({ image, volume }, targetMb));
    return `grown to ${targetMb} MB`;
  }

  while (!signal.aborted) {
    const specs = deps.specs().filter((spec) => spec.tombstone === undefined);
    for (const spec of specs) {
      if (performance.now() < (due.get(spec.node) ?? 0)) continue;
      await checkDisk(spec).catch((error: unknown) => {
        due.set(spec.node, performance.now() + 1000);
        deps.log.warn({ node: spec.node, error: String(error) }, "the disk could not be checked");
      });
    }
    await sleep(tickMs, undefined, { signal }).catch(() => {});
  }
}
