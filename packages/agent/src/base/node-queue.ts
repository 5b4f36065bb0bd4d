/** Runs `work` for the nodes that were woken: at most `limit` at a time, and one run at a time for each node. */
export function createNodeQueue(limit: number, work: (node: string) => Promise<void>) {
  const waiting = new Set<string>();
  const active = new Map<string, Promise<void>>();
  const timers = new Map<string, NodeJS.Timeout>();
  const idlers: (() => void)[] = [];
  let closed = false;

  function pump(): void {
    for (const node of waiting) {
      if (closed || active.size >= limit) break;
      if (active.has(node)) continue;
      waiting.delete(node);
      const done = work(node).finally(() => {
        active.delete(node);
        pump();
      });
      active.set(node, done);
    }
    if (waiting.size === 0 && active.size === 0) for (const resolve of idlers.splice(0)) resolve();
  }

  function wake(node: string): void {
    clearTimeout(timers.get(node));
    timers.delete(node);
    waiting.add(node);
    pump();
  }

  return {
    wake,
    /** A later wake of the same node replaces this one. */
    wakeLater(node: string, ms: number): void {
      clearTimeout(timers.get(node));
      timers.set(node, setTimeout(wake, Math.min(ms, 2 ** 31 - 1), node));
    },
    /** Being worked on, or waiting for a retry: waking it now would cut the delay short. */
    isBusy: (node: string): boolean => active.has(node) || waiting.has(node) || timers.has(node),
    /** Resolves when no run of the node is active. */
    settled: (node: string): Promise<void> => active.get(node)?.catch(() => {}) ?? Promise.resolve(),
    idle: (): Promise<void> =>
      waiting.size === 0 && active.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve)),
    async close(): Promise<void> {
      closed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      await Promise.allSettled(active.values());
    },
  };
}
