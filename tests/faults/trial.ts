import type { Took } from "../../tools/slowest.ts";
import { throwAwayContainers } from "../kit/host.ts";
import { brokenInvariants, livingHosts } from "../kit/invariants.ts";
import { until } from "../kit/until.ts";
import type { Ledger } from "./ledger.ts";
import { warningsSince } from "./warnings.ts";

export type Tally = { passed: number; failed: number; again: number };
export type Run = { ledger: Ledger; tally: Tally; times: Took[] };

/** One trial: injects its fault; then everything must be as if it had not happened. */
export async function trial(run: Run, name: string, work: () => Promise<string | undefined | void>): Promise<boolean> {
  if (run.ledger.hasPassed(name)) {
    run.tally.again++;
    run.tally.passed++;
    return true;
  }
  const started = performance.now();
  const since = Date.now();
  const end = (ok: boolean, note?: string): boolean => {
    const ms = Math.round(performance.now() - started);
    run.tally[ok ? "passed" : "failed"]++;
    run.times.push({ name, seconds: ms / 1000 });
    run.ledger.append({ trial: name, ok, ms, ...(note === undefined ? {} : { note }) });
    console.log(
      `${ok ? "ok  " : "FAIL"} ${name} (${(ms / 1000).toFixed(1)} s)${note === undefined ? "" : `: ${note}`}`,
    );
    return ok;
  };
  try {
    const note = await work();
    await untilConsistent();
    return end(true, note ?? undefined);
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
