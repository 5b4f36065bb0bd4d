/** Runs work one at a time for each key, and for at most `limit` keys at once. */
export function createLimiter(limit: number) {
  const last = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let free = limit;

  async function inPlace<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Passed directly to the next in line, so that no newcomer can take it.
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  }

  return {
    run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const result = (last.get(key) ?? Promise.resolve()).then(() => inPlace(work));
      const settled = result.catch(() => {});
      last.set(key, settled);
      void settled.then(() => last.get(key) === settled && last.delete(key));
      return result;
    },
  };
}
