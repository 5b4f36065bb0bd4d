import { until } from "@moorage/testkit/until.ts";
import { createPool } from "../../packages/control-plane/src/platform/db/database.ts";
import { invoiced, isMonthEnded, requireEndedMonth } from "../kit/month-end/verdict.ts";
import { seedMonth } from "../kit/month-end/seed.ts";
import { workerPrograms } from "../kit/month-end/worker-process.ts";
import { withBenchDatabase } from "./bench-database.ts";
import { cpuByPart, minus, processSeconds } from "./cpu.ts";

const GOAL_SECONDS = 60;
const ACCOUNTS_EACH = 250;

/**
 * The month end of all accounts of a cell with a separate worker: CPU of that worker, of PostgreSQL and of Temporal.
 */
export const benchMonthEnd = (accounts: number): Promise<boolean> =>
  withBenchDatabase("bench_month_end", async (databaseUrl) => {
    const pool = createPool(databaseUrl, 2);
    await using programs = workerPrograms(databaseUrl, ACCOUNTS_EACH);
    try {
      await seedMonth(pool, accounts);
      const before = cpuByPart();
      const started = performance.now();
      const worker = await programs.start();
      const startup = await until("the first invoices are there", 120, async () =>
        (await invoiced(pool)) > 0 ? performance.now() : undefined,
      );
      await until("the month is ended", 900, () => isMonthEnded(pool));
      const took = (performance.now() - started) / 1000;
      const used = {
        worker: processSeconds(worker.pid),
        ...pick(minus(cpuByPart(), before), ["postgres", "temporal"]),
      };
      await worker.kill("SIGTERM");
      const sum = Object.values(used).reduce((total, seconds) => total + seconds, 0);
      console.log(await requireEndedMonth(pool, accounts, 200));
      const parts = Object.entries(used).map(([part, seconds]) => `${part} ${seconds.toFixed(1)}`);
      console.log(
        `${took.toFixed(1)} s, of which ${((startup - started) / 1000).toFixed(1)} until the first; ` +
          `${sum.toFixed(1)} s of CPU: ${parts.join(", ")} (goal: at most ${GOAL_SECONDS})`,
      );
      return sum <= GOAL_SECONDS;
    } finally {
      await pool.end();
    }
  });

const pick = (of: Record<string, number>, names: readonly string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, of[name] ?? 0]));
