/** A process of the simulation. It yields the milliseconds that it sleeps. */
export type Process<T = void> = Generator<number, T, void>;

type Entry = { at: number; order: number; go: () => void };

/**
 * A virtual clock. Nothing waits for real time, and nothing is a promise: the same processes take the same turns in
 * every run.
 */
export function createSchedule() {
  const heap: Entry[] = [];
  let now = 0;
  let order = 0;
  const after = (ms: number, go: () => void): void => push(heap, { at: now + Math.round(ms), order: order++, go });
  return {
    now: () => now,
    after,
    start(process: Process): void {
      const turn = (): void => {
        const { done, value } = process.next();
        if (done !== true) after(Math.max(1, value), turn);
      };
      after(0, turn);
    },
    /** Until this returns true. */
    runUntil(isOver: () => boolean): void {
      while (!isOver()) {
        const next = pop(heap);
        if (next === undefined) return;
        now = next.at;
        next.go();
      }
    },
  };
}
export type Schedule = ReturnType<typeof createSchedule>;

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] as Entry;
    if (!isBefore(entry, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const least = right < heap.length && isBefore(heap[right] as Entry, heap[left] as Entry) ? right : left;
    if (!isBefore(heap[least] as Entry, last)) break;
    heap[at] = heap[least] as Entry;
    at = least;
  }
  heap[at] = last;
  return first;
}
