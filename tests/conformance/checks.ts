import type { Took } from "../../tools/slowest.ts";

export type Tally = { passed: number; failed: number };

/** A check is printed as soon as its result is known, and a failed one does not end the run. */
export type Checks = {
  tally: Tally;
  times: Took[];
  note(name: string, passed: boolean, found: string): boolean;
  check<T>(name: string, request: () => Promise<T>, wrong?: (answer: T) => string | undefined): Promise<T | undefined>;
};

/** `of` names the client, where several run at the same time. */
export function newChecks(of = ""): Checks {
  const tally = { passed: 0, failed: 0 };
  const times: Took[] = [];
  const note = (name: string, passed: boolean, found: string): boolean => {
    tally[passed ? "passed" : "failed"]++;
    console.log(`${of}${passed ? "ok    " : "FAILED"} ${name}${found === "" ? "" : `: ${found}`}`);
    return passed;
  };
  return {
    tally,
    times,
    note,
    async check(name, request, wrong) {
      const started = performance.now();
      try {
        const answer = await request();
        const reason = wrong?.(answer);
        note(name, reason === undefined, reason ?? "");
        return reason === undefined ? answer : undefined;
      } catch (error) {
        note(name, false, error instanceof Error ? error.message : String(error));
        return undefined;
      } finally {
        times.push({ name: `${of}${name}`, seconds: (performance.now() - started) / 1000 });
      }
    },
  };
}
