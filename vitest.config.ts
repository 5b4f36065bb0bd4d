import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { suiteTotals } from "./tools/suite-totals.ts";

const postgres = "packages/control-plane/src/testing/postgres-for-tests.ts";
const elsewhere = ["**/node_modules/**", ".stack/**"];

export default defineConfig({
  test: {
    reporters: ["default", suiteTotals()],
    projects: [
      {
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: [...elsewhere, "**/*.integration.test.ts", "tests/system/**"],
        },
      },
      {
        test: {
          name: "integration",
          include: ["**/*.integration.test.ts"],
          exclude: elsewhere,
          // Real servers share the machine with the tests: more workers only make them wait for each other.
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...(existsSync(postgres) ? { globalSetup: [postgres] } : {}),
        },
      },
      {
        test: {
          name: "system",
          include: ["tests/system/**/*.test.ts"],
          // One stack serves all of them, and some stop parts of it.
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
