/** Long polls that wait for a change of their host's desired state. */
export type Wakeups = {
  wake(hostId: number | "all"): void;
  wait(hostId: number, ms: number, signal: AbortSignal): Promise<void>;
};

export function createWakeups(): Wakeups {
  const waiting = new Map<number, Set<() => void>>();
  return {
    wake(hostId) {
      const sets = hostId === "all" ? [...waiting.values()] : [waiting.get(hostId) ?? new Set<() => void>()];
      for (const set of sets) for (const wake of set) wake();
    },
    wait: (hostId, ms, signal) =>
      new Promise((resolve) => {
        const set = waiting.get(hostId) ?? new Set();
        waiting.set(hostId, set);
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          set.delete(end);
          if (set.size === 0 && waiting.get(hostId) === set) waiting.delete(hostId);
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal.addEventListener("abort", end);
        set.add(end);
      }),
  };
}
