import { Gauge, type Registry } from "prom-client";
import type { DatabaseClock } from "#platform/db/database-clock.ts";

/** Missing until PostgreSQL has reported its time. */
export const addClockGauge = (registry: Registry, { aheadMs }: Pick<DatabaseClock, "aheadMs">): Gauge =>
  new Gauge({
    name: "moorage_clock_ahead_seconds",
    help: "How far the clock of the process's machine is ahead of PostgreSQL's, which is used; negative: behind.",
    registers: [registry],
    collect() {
      const ahead = aheadMs();
      if (ahead === undefined) this.remove();
      else this.set(ahead / 1000);
    },
  });
