import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const root = join(import.meta.dirname, "..");
const file = join(import.meta.dirname, "test-durations.json");

/** Seconds by file, relative to the root of the repository. */
export type Durations = Readonly<Record<string, number>>;

/** Durations of the integration and system tests when they were last measured. Only the ratios matter. */
export const measuredDurations = (): Durations => JSON.parse(readFileSync(file, "utf8")) as Durations;

/**
 * With `MOORAGE_DURATIONS=record`, a run of integration or system tests writes the duration of each file to
 * tools/test-durations.json. Files that did not run keep their old value; files that no longer exist are removed.
 */
export const recordDurations = (): Reporter => ({
  onTestRunEnd(modules) {
    if (process.env["MOORAGE_DURATIONS"] !== "record") return;
    const measured = modules
      .filter((module) => ["integration", "system"].includes(module.project.name) && module.state() === "passed")
      .map((module): [string, number] => [relative(root, module.moduleId), secondsOf(module)]);
    const kept = Object.entries(measuredDurations()).filter(([path]) => existsSync(join(root, path)));
    const all = Object.entries({ ...Object.fromEntries(kept), ...Object.fromEntries(measured) });
    const sorted = all.toSorted(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  },
});

function secondsOf(module: TestModule): number {
  const { prepareDuration, setupDuration, collectDuration, duration } = module.diagnostic();
  return Math.round((prepareDuration + setupDuration + collectDuration + duration) / 100) / 10;
}
