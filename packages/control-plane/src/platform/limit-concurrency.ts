import { DomainError } from "./errors.ts";

/** Lets only so much of costly work happen at once. A bounded number waits; past that, one is refused right away. */
export function limitConcurrency({ atOnce, mostWaiting }: { atOnce: number; mostWaiting: number }) {
  const waiting: (() => void)[] = [];
  let free = atOnce;

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free--;
    else if (waiting.length >= mostWaiting)
      throw new DomainError("unavailable", { reason: "Too much to do at this moment. The request can be sent again." });
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // A turn goes from hand to hand: nobody who comes later takes it in between.
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
