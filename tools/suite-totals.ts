import type { Reporter, TestModule } from "vitest/node";
import { printSlowest, type Took } from "./slowest.ts";

/**
 * Prints the slowest tests of every suite that ran, and `unit: 12 passed, 0 failed`, alone on its line, for programs
 * that read the output.
 */
export const suiteTotals = (): Reporter => ({
  onTestRunEnd(modules, unhandledErrors) {
    const suites = Map.groupBy(modules, (module) => module.project.name);
    for (const [suite, ofSuite] of suites) {
      printSlowest(suite, ofSuite.flatMap(timesOf));
      console.log(totalsLine(suite, ofSuite));
    }
    // An error outside of any test belongs to no suite, and must not be hidden by suites that all passed.
    if (unhandledErrors.length > 0) console.log(`outside: 0 passed, ${unhandledErrors.length} failed`);
  },
});

const timesOf = (module: TestModule): Took[] =>
  Array.from(module.children.allTests(), (test) => ({
    name: `${module.relativeModuleId} > ${test.name}`,
    seconds: (test.diagnostic()?.duration ?? 0) / 1000,
  }));

function totalsLine(suite: string, modules: readonly TestModule[]): string {
  const passed = sum(modules, (module) => count(module.children.allTests("passed")));
  const failedTests = sum(modules, (module) => count(module.children.allTests("failed")));
  // A file that does not load, or whose hooks fail, has no failed test to count.
  const failedFiles = modules.filter(
    (module) => module.state() === "failed" && count(module.children.allTests("failed")) === 0,
  ).length;
  return `${suite}: ${passed} passed, ${failedTests + failedFiles} failed`;
}

const count = (tests: Iterable<unknown>): number => Array.from(tests).length;
const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
