import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { cancelOnSignal } from "./tools/cancel-on-signal.ts";
import { ByDuration } from "./tools/by-duration.ts";
import { suiteTotals } from "./tools/suite-totals.ts";
import { recordDurations } from "./tools/test-durations.ts";

const postgres = "packages/control-plane/src/testing/postgres-for-tests.ts";
const elsewhere = ["**/node_modules/**", ".stack/**", ".stacks/**", "**/.copy-*/**"];

// As in .ci/run: tests start agents and command lines by the hundred.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "moorage-compile-cache");

// Ends what hangs. No test may depend on it: a busy machine takes many times as long as a quiet one.
const patience = (ms: number) => ({ testTimeout: ms, hookTimeout: ms, expect: { poll: { timeout: 60_000 } } });

export default defineConfig({
  test: {
    reporters: ["default", recordDurations(), suiteTotals(), cancelOnSignal()],
    sequence: { sequencer: ByDuration },
    projects: [
      {
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: [...elsewhere, "**/*.integration.test.ts", "tests/system/**", "tests/release/**"],
          maxWorkers: 2,
          // They are of pure functions: nothing of one file is left for the next.
          isolate: false,
          ...patience(600_000),
        },
      },
      {
        test: {
          name: "integration",
          include: ["**/*.integration.test.ts"],
          exclude: elsewhere,
          // Real servers share the machine with the tests, which wait for them for half of the time.
          maxWorkers: 4,
          // To load the control plane anew takes three seconds of a processor, for each of 180 files.
          isolate: false,
          sequence: { groupOrder: 1 },
          ...patience(1_500_000),
          globalSetup: [...(existsSync(postgres) ? [postgres] : []), "tools/stack/image-for-tests.ts"],
        },
      },
      {
        test: {
          name: "system",
          include: ["tests/system/**/*.test.ts"],
          // One stack serves all of them, and some stop parts of it.
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          ...patience(1_500_000),
        },
      },
      {
        test: {
          name: "release",
          include: ["tests/release/**/*.test.ts"],
          globalSetup: ["tests/release/build-release.ts"],
          fileParallelism: false,
          sequence: { groupOrder: 3 },
          ...patience(1_500_000),
        },
      },
    ],
  },
});
