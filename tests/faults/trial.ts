import { until } from "@moorage/testkit/until.ts";
import type { Took } from "../../tools/slowest.ts";
import { throwAwayContainers } from "../kit/host.ts";
import { brokenInvariants, livingHosts } from "../kit/invariants.ts";
import type { Figures, Ledger, Result } from "./ledger.ts";
import { warningsSince } from "./warnings.ts";

export type Tally = { passed: number; failed: number; again: number };
/** How the command line restricts or extends drills. `trials` is for the long form. */
export type Options = { trials: number | undefined; step: string; seed: number; everyPair: boolean };
/** `trials` has the results of all trials so far, including those of earlier runs that were not run again. */
export type Run = { options: Options; ledger: Ledger; tally: Tally; times: Took[]; trials: Result[] };

/** The note is printed. */
export type Measured = { note: string; figures: Figures };

/** One trial: injects its fault; then everything must be as if it had not happened. */
export async function trial(
  run: Run,
  name: string,
  work: () => Promise<string | Measured | undefined | void>,
): Promise<boolean> {
  const before = run.ledger.passedBefore(name);
  if (before !== undefined) {
    run.tally.again++;
    run.tally.passed++;
    run.trials.push(before);
    return true;
  }
  const started = performance.now();
  const since = Date.now();
  const end = (ok: boolean, note?: string, figures?: Figures): boolean => {
    const ms = Math.round(performance.now() - started);
    run.tally[ok ? "passed" : "failed"]++;
    run.times.push({ name, seconds: ms / 1000 });
    const result = {
      trial: name,
      ok,
      ms,
      ...(note === undefined ? {} : { note }),
      ...(figures === undefined ? {} : { figures }),
    };
    run.trials.push(result);
    run.ledger.append(result);
    console.log(
      `${ok ? "ok  " : "FAIL"} ${name} (${(ms / 1000).toFixed(1)} s)${note === undefined ? "" : `: ${note}`}`,
    );
    return ok;
  };
  try {
    const found = await work();
    await untilConsistent();
    return typeof found === "object" ? end(true, found.note, found.figures) : end(true, found ?? undefined);
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause;
    end(false, [error, cause].filter(Boolean).map(String).join("; "));
    for (const warning of warningsSince(since)) console.log(`       ${warning.slice(0, 240)}`);
    return false;
  }
}

/** Rows and hosts agree, and no operation is in progress. */
async function untilConsistent(): Promise<void> {
  await until("no backup is being tried out", VERIFIED_WITHIN, async () => {
    const running = await Promise.all((await livingHosts()).map(throwAwayContainers));
    return running.flat().length === 0;
  });
  let broken: string[] = [];
  await until("rows and hosts agree", 60, async () => {
    broken = await brokenInvariants();
    return broken.length === 0;
  }).catch((error) => {
    if (broken.length === 0) throw error;
    throw new Error(broken.map((wrong) => wrong.slice(0, LONGEST_FAULT)).join("; "));
  });
}
/** Seconds. A test restore replays all logs since the copy, which a trial under load has filled. */
const VERIFIED_WITHIN = 600;
/** A single folder that is left behind contains hundreds of files. */
const LONGEST_FAULT = 500;
