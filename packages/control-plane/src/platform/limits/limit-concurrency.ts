import { DomainError } from "../errors.ts";
import { texts } from "./texts.ts";

/** Limits how much costly work runs at once. A bounded number of calls waits; further calls are refused at once. */
export function limitConcurrency({ atOnce, mostWaiting }: { atOnce: number; mostWaiting: number }) {
  const waiting: (() => void)[] = [];
  let free = atOnce;

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free--;
    else if (waiting.length >= mostWaiting) throw new DomainError("unavailable", { reason: texts.tooManyWaiting() });
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The permit passes directly to the next waiting call: no later call can take it in between.
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
