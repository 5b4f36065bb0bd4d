import { setTimeout as sleep } from "node:timers/promises";
import { NotYet, quietMs } from "./try-again.ts";

/** Work for a node that may take long: a run starts it, ends, and runs again when the work has ended. */
export type Work = {
  /** However many runs request it, work of one name is done once. */
  name: string;
  /** For reports: "Waiting for …". */
  waitsFor: string;
  /** Ends soon after the abort. */
  run: (signal: AbortSignal) => Promise<void>;
};

type Entry<W> = {
  work: W;
  over: AbortController;
  ended: Promise<void>;
  /** A run of the node waits for the end within the grace period. */
  isAwaited: boolean;
  /** The last run of the node requested it. */
  isRequested: boolean;
  outcome: { kind: "running" } | { kind: "done" } | { kind: "failed"; error: unknown };
};

/** What ends within this time does not end the run: most servers answer and most backlogs are applied by then. */
const graceMs = 1000;

export type BackgroundDeps<W> = {
  /** What the work has to wait for before it may start; undefined: nothing. Pure. */
  isHeldBy: (running: readonly W[], next: W) => string | undefined;
  /** The node runs again. */
  wake: (node: string) => void;
};

/** At most one work for each node. None of it is remembered beyond its end: what it achieved can be observed. */
export function createBackground<W extends Work>({ isHeldBy, wake }: BackgroundDeps<W>) {
  const entries = new Map<string, Entry<W>>();
  const held = new Map<string, W>();

  const runningWork = (): W[] =>
    [...entries.values()].filter(({ outcome }) => outcome.kind === "running").map(({ work }) => work);

  function start(node: string, work: W): Entry<W> {
    const over = new AbortController();
    const ended = Promise.withResolvers<void>();
    const entry: Entry<W> = {
      work,
      over,
      ended: ended.promise,
      isAwaited: true,
      isRequested: true,
      outcome: { kind: "running" },
    };
    entries.set(node, entry);
    const finish = (outcome: Entry<W>["outcome"]): void => {
      entry.outcome = outcome;
      ended.resolve();
      if (!entry.isAwaited && entries.get(node) === entry) {
        if (outcome.kind === "done") entries.delete(node);
        if (!over.signal.aborted) wake(node);
      }
      for (const [each, next] of held)
        if (isHeldBy(runningWork(), next) === undefined) {
          held.delete(each);
          wake(each);
        }
    };
    Promise.try(work.run, over.signal).then(
      () => finish({ kind: "done" }),
      (error: unknown) => finish({ kind: "failed", error }),
    );
    return entry;
  }

  /** Ends the node's work, if any, and waits until it has ended. A failure that no run has learned of is dropped. */
  async function end(node: string): Promise<void> {
    const entry = entries.get(node);
    if (entry === undefined) return;
    entries.delete(node);
    entry.over.abort();
    await entry.ended;
  }

  return {
    /**
     * Returns once the work is done, and throws its error once if it failed. Until then it throws `NotYet`, which ends
     * the run.
     */
    async run(node: string, work: W): Promise<void> {
      let entry = entries.get(node);
      if (entry !== undefined && entry.work.name !== work.name) {
        await end(node);
        entry = undefined;
      }
      if (entry === undefined) {
        const holder = isHeldBy(runningWork(), work);
        if (holder !== undefined) {
          held.set(node, work);
          throw new NotYet(holder, quietMs);
        }
        held.delete(node);
        entry = start(node, work);
        await Promise.race([entry.ended, sleep(graceMs)]);
        entry.isAwaited = false;
      }
      entry.isRequested = true;
      const { outcome } = entry;
      if (outcome.kind === "running") throw new NotYet(work.waitsFor, quietMs);
      if (entries.get(node) === entry) entries.delete(node);
      if (outcome.kind === "failed") throw outcome.error;
    },
    /** The node's work that has not ended. */
    runningFor(node: string): W | undefined {
      const entry = entries.get(node);
      return entry?.outcome.kind === "running" ? entry.work : undefined;
    },
    end,
    /** As if this run had requested it. */
    keep(node: string): void {
      const entry = entries.get(node);
      if (entry !== undefined) entry.isRequested = true;
    },
    /** At the start of a run, and at its end: work that the run did not request is not desired any more. */
    beginRun(node: string): void {
      const entry = entries.get(node);
      if (entry !== undefined) entry.isRequested = false;
    },
    async endUnrequested(node: string): Promise<void> {
      if (entries.get(node)?.isRequested === false) await end(node);
    },
    async close(): Promise<void> {
      await Promise.all([...entries.keys()].map(end));
    },
  };
}
export type Background<W extends Work> = ReturnType<typeof createBackground<W>>;
