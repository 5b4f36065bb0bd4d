import type { Fault } from "@moorage/crash-points";
import { until } from "@moorage/testkit/until.ts";
import type pg from "pg";
import { createPool } from "../../packages/control-plane/src/platform/db/database.ts";
import { withBenchDatabase } from "../bench/bench-database.ts";
import { seedMonth } from "../kit/month-end/seed.ts";
import { invoiced, isMonthEnded, requireEndedMonth } from "../kit/month-end/verdict.ts";
import { type WorkerPrograms, workerPrograms } from "../kit/month-end/worker-process.ts";
import { defineDrill } from "./drill.ts";
import { trial } from "./trial.ts";

const PATIENCE_MS = 1_200_000;

/**
 * The worst moments: between a commit and its acknowledgement. In this order each is still to come when it is armed.
 */
const points: readonly Fault[] = [
  { step: "worker.cut-month", mode: "kill-after" },
  { step: "worker.invoice-batch", mode: "kill-after" },
  { step: "worker.finish-run", mode: "kill-after" },
  { step: "worker.invoiceRun", mode: "kill-after" },
  { step: "worker.start-run", mode: "kill-after" },
  { step: "worker.invoice-batch", mode: "kill-before" },
  { step: "worker.finish-run", mode: "kill-before" },
];

export const monthEnd = defineDrill({
  name: "month-end",
  question: "Is each account invoiced once when the worker is killed again and again during the month end?",
  hosts: { least: 3 },
  short: { accounts: 500, accountsEach: 10, kills: 5 },
  long: { accounts: 10_000, accountsEach: 250, kills: 20 },
  extent: ({ accounts, kills }) => `${accounts.toLocaleString("en")} accounts, ${kills} kills`,
  run: (run, { accounts, accountsEach, kills }) =>
    trial(run, `month end of ${accounts} accounts, the worker killed ${kills} times: each is invoiced once`, () =>
      withBenchDatabase("faults_month_end", async (databaseUrl) => {
        const pool = createPool(databaseUrl, 2);
        await using programs = workerPrograms(databaseUrl, accountsEach);
        try {
          await seedMonth(pool, accounts);
          const armed = points.slice(0, Math.floor(kills / 2));
          for (const fault of armed) await killAt(programs, fault);
          const chance = randomOf(run.options.seed);
          for (let left = kills - armed.length; left > 0; left--)
            await killAmid(programs, pool, accounts, left, chance);
          const done = await invoiced(pool);
          const worker = await programs.start();
          await until("the month is ended", 600, () => isMonthEnded(pool));
          await worker.kill("SIGTERM");
          return `${kills} kills with ${done} invoices made by then; ${await requireEndedMonth(pool, accounts, 100)}`;
        } finally {
          await pool.end();
        }
      }),
    ),
});

/** The process kills itself at the point. */
async function killAt(programs: WorkerPrograms, fault: Fault): Promise<void> {
  const { ended } = await programs.start(fault);
  let dead = false;
  void ended.then(() => (dead = true));
  await until(`${fault.mode} ${fault.step} fires`, 120, async () => dead);
}

/**
 * At some moment of the work: after a share of what is left, so that the following kills still hit work in progress.
 */
async function killAmid(
  programs: WorkerPrograms,
  pool: pg.Pool,
  accounts: number,
  killsLeft: number,
  chance: () => number,
): Promise<void> {
  const before = await invoiced(pool);
  const target = before + 1 + Math.floor(((accounts - before) / (killsLeft + 2)) * chance());
  const worker = await programs.start();
  const deadline = Date.now() + PATIENCE_MS;
  while ((await invoiced(pool)) < target) {
    if (Date.now() > deadline) throw new Error(`no invoice came in time; see ${programs.log}`);
    await pause(5);
  }
  await pause(chance() * 20);
  await worker.kill("SIGKILL");
  if (await isMonthEnded(pool)) throw new Error("it was over before the kill: nothing was shown");
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The same seed gives the same moments, as far as possible. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
