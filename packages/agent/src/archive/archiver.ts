import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import type { SpecStore } from "../specs/spec-store.ts";
import { type ArchivedNode, archivedNode, isMember, isOnItsTimeline, isArchiver, overtaken } from "./archived-node.ts";
import { type CopyOrder, copyOnce } from "./copy.ts";
import { createHeavyWork, type HeavyDeps } from "./heavy-work.ts";
import { createTasks, type TaskDeps } from "./tasks.ts";
import { prepareScratch, sweepScratch } from "./scratch.ts";
import { purgeShipped, type ShipDeps, shipLogs } from "./ship-logs.ts";
import { purgeMemberLogs, shipMemberLogs } from "./ship-member-logs.ts";
import { reportArchived } from "./report-archived.ts";
import { createLimiter } from "./limiter.ts";

export type ArchiverDeps = ShipDeps & {
  store: Pick<SpecStore, "all" | "get">;
  reporter: TaskDeps["reporter"];
  oneAtATime?: HeavyDeps["oneAtATime"];
  /** Verification of restore points; it shares the heavy-work limit with the nightly copies. */
  verification?: {
    isDue: (spec: NodeSpec) => Promise<boolean>;
    run: (spec: NodeSpec, signal: AbortSignal) => Promise<void>;
  };
  log: Logger;
};

const tickMs = 500;
const shipsAtOnce = 4;
const checkForWorkMs = 10_000;
const makeRoomEveryMs = 10_000;

/**
 * The host's own schedule: binary logs of every node each minute, a base copy of every node each night, one after the
 * other, and the tasks of specs. Only the upload URLs need the control plane, not the schedule.
 */
export function createArchiver(deps: ArchiverDeps) {
  const stop = new AbortController();
  const ships = createLimiter(shipsAtOnce);
  // A server makes one copy of itself at a time.
  const copies = createLimiter(Number.POSITIVE_INFINITY);
  const [shipAfter, makeRoomAfter] = [new Map<string, number>(), new Map<string, number>()];
  const running = new Set<Promise<void>>();
  const watched = new Set<{ node: ArchivedNode; kind: "logs" | "heavy"; end: AbortController }>();
  const tasks = createTasks({
    ...deps,
    ship: (node) => ship(node, { requested: true }),
    copy: (node, order) => copy(node, order),
  });
  const heavyWork = createHeavyWork({
    nodes: () => awake().filter(isArchiver),
    copy: (node, order) => copy(node, order),
    verify: (node) => watch(node, "heavy", async (signal) => deps.verification?.run(node.spec, signal)),
    verifyIsDue: async (spec) => (await deps.verification?.isDue(spec)) ?? false,
    oneAtATime: deps.oneAtATime ?? ((_key, work) => work()),
    clock: deps.clock,
    log: deps.log,
  });
  let heavy: Promise<void> | undefined;
  let checkAfter = 0;
  const current = (node: string) => archivedNode(deps.host, deps.store.get(node));
  const awake = (): ArchivedNode[] =>
    deps.store.all().flatMap((spec) => (spec.power === "off" ? [] : (archivedNode(deps.host, spec) ?? [])));

  /** Runs work with a signal that aborts when the agent closes, the node is removed or its timeline changes. */
  async function watch<T>(
    node: ArchivedNode,
    kind: "logs" | "heavy",
    work: (signal: AbortSignal) => Promise<T>,
    also: AbortSignal[] = [],
  ): Promise<T> {
    const entry = { node, kind, end: new AbortController() };
    watched.add(entry);
    try {
      return await work(AbortSignal.any([stop.signal, entry.end.signal, ...also]));
    } finally {
      watched.delete(entry);
    }
  }

  const ship = (node: ArchivedNode, { requested = false } = {}, ...also: AbortSignal[]): Promise<void> =>
    ships.run(node.spec.node, () =>
      watch(
        node,
        "logs",
        (signal) => (isMember(node) ? shipMemberLogs : shipLogs)(deps, node, signal, requested),
        also,
      ),
    );

  const purge = (node: ArchivedNode, all: boolean): Promise<string[]> =>
    (isMember(node) ? purgeMemberLogs : purgeShipped)(deps, node, all);

  const copy = (node: ArchivedNode, order: Omit<CopyOrder, "signal">): Promise<void> =>
    copies.run(node.spec.node, () =>
      watch(node, "heavy", async (signal) => {
        await copyOnce(deps, node, { ...order, signal });
        await reportArchived(deps, node, { at: undefined }, signal);
      }),
    );

  async function shipScheduled(node: ArchivedNode): Promise<void> {
    const log = deps.log.child({ node: node.spec.node });
    try {
      if (!(await isOnItsTimeline(node))) return;
      if (isArchiver(node)) await ship(node);
      const purged = await purge(node, false);
      if (purged.length > 0) log.info({ purged }, "binary logs that are in the archive were purged");
    } catch (error) {
      if (!stop.signal.aborted) log.warn({ error: String(error) }, "binary logs could not be shipped to the archive");
    }
  }

  async function checkForWork(): Promise<void> {
    try {
      await sweepScratch(deps.host, (node) => deps.store.get(node) !== undefined);
      if (await heavyWork.next()) checkAfter = 0;
    } catch (error) {
      deps.log.warn({ error: String(error) }, "the schedule of copies and verifications failed");
    }
    heavy = undefined;
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }

  function endOvertaken(): void {
    for (const { node, kind, end } of watched) {
      const reason = overtaken(node, current(node.spec.node), kind);
      if (reason !== undefined) end.abort(new Error(reason));
    }
  }

  function isShipDue({ spec: { node }, archive }: ArchivedNode, now: number): boolean {
    const everyMs = archive.log_seconds * 1000;
    // The first time is random within the interval, so that the nodes of a host do not all ship at once.
    const due = shipAfter.get(node) ?? now + Math.random() * everyMs;
    shipAfter.set(node, now >= due ? now + everyMs : due);
    return now >= due;
  }

  function tick(): void {
    const now = deps.clock().getTime();
    endOvertaken();
    for (const node of awake()) {
      if (isShipDue(node, now)) track(shipScheduled(node));
      for (const task of tasks.begin(node)) track(task);
    }
    if (heavy !== undefined || now < checkAfter) return;
    checkAfter = now + checkForWorkMs;
    heavy = checkForWork();
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      tick();
      await sleep(tickMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  let ticking: Promise<void> | undefined;
  return {
    /** Call before any server starts: a container sees later mounts only below a folder that is already shared. */
    prepare: (): Promise<void> => prepareScratch(deps.host),
    start: () => (ticking ??= run()),
    /** When this returns, everything committed before the call is in the archive. */
    async shipNow(id: string, signal: AbortSignal): Promise<void> {
      const node = current(id);
      if (node !== undefined && isArchiver(node)) await ship(node, {}, signal);
    },
    /** For a node whose disk is nearly full: ships all logs to the archive, then purges them. */
    async makeRoom(id: string): Promise<void> {
      const node = current(id);
      const now = deps.clock().getTime();
      if (node === undefined || now < (makeRoomAfter.get(id) ?? 0)) return;
      makeRoomAfter.set(id, now + makeRoomEveryMs);
      if (isArchiver(node)) await ship(node);
      await purge(node, true);
    },
    async close(): Promise<void> {
      stop.abort(new Error("The agent is stopping."));
      await ticking;
      await Promise.allSettled([heavy, ...running]);
    },
  };
}
export type Archiver = ReturnType<typeof createArchiver>;
