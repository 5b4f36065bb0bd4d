import { Gauge, type Registry } from "prom-client";

/** `stuck`: rows that failed in their last try, by job. */
export function addStuckGauge(registry: Registry, stuck: () => ReadonlyMap<string, number>): void {
  const gauge = new Gauge({
    name: "moorage_job_stuck",
    help: "Rows that a job of this process could not do in their last try. They are tried again, ever more rarely.",
    labelNames: ["job"],
    registers: [],
    collect() {
      for (const [job, rows] of stuck()) this.set({ job }, rows);
    },
  });
  registry.registerMetric(gauge);
}
