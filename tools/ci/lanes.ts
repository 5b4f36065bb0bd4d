import { join } from "node:path";

/** A program and its settings. `nice` gives programs of other lanes priority. */
export type Stage = { name: string; command: string[]; env?: Record<string, string>; nice?: number };

const node = process.execPath;
const program = (path: string, ...args: string[]): string[] => [node, path, ...args];
const vitest = (project: string, ...args: string[]): string[] =>
  program(join("node_modules", "vitest", "vitest.mjs"), "run", "--project", project, ...args);
export const stackCommand = (name: string, ...args: string[]): string[] =>
  program("tools/stack/stack.ts", ...args, "--name", name);

const INTEGRATION_SHARDS = 2;
const shards = Array.from({ length: INTEGRATION_SHARDS }, (_, index) => index + 1);

/** These stages use the CPU most of the time and measure no durations, so the servers of the stacks get priority. */
const withoutStack: Stage[] = [
  { name: "check", command: program("tools/check.ts") },
  { name: "unit", command: vitest("unit") },
  { name: "sim", command: program("tests/sim/run.ts", "--ci") },
  ...shards.map((shard) => ({
    name: `integration-${shard}`,
    command: vitest("integration", "--shard", `${shard}/${INTEGRATION_SHARDS}`),
  })),
  { name: "schema", command: program("tools/previous-tests-on-new-schema.ts") },
  { name: "docs", command: program("tests/docs/run.ts", "--ci") },
].map((stage) => ({ ...stage, nice: 19 }));

/** Its stages run one after the other, between `up` and `down` of its stack if it has one. */
export type Part = { stack?: string; stages: Stage[] };

const systemTests: Part = {
  stack: "a",
  stages: [
    // The lifecycle test uses 1,024 MB by default.
    { name: "system", command: vitest("system"), env: { MOORAGE_LIFECYCLE_MB: "256" } },
    // Searches the stack of the system tests for the secrets that they used.
    { name: "secrets", command: program("tests/security/secret-scan.ts") },
  ],
};
const clients: Part = {
  stack: "b",
  stages: [
    { name: "conformance", command: program("tests/conformance/run.ts", "--ci") },
    { name: "cards", command: program("tests/security/card-canary.ts", "--cards", "100") },
    { name: "hostile", command: program("tests/hostile/run.ts", "--ci") },
  ],
};
const drills: Part = { stack: "c", stages: [{ name: "faults", command: program("tests/faults/run.ts", "--ci") }] };

/**
 * Two lanes run at the same time, and the parts of a lane one after the other. What computes is beside what mostly waits,
 * and never more than one stack is up in a lane: with two stacks beside tests that compute, every test takes several
 * times as long, while the idle processes of both stacks compute on. Stack names are short because the paths of sockets
 * below them are limited.
 */
export const lanes: Part[][] = [
  [{ stages: withoutStack }, clients],
  [systemTests, drills],
];

export const upOf = (stack: string): Stage => ({
  name: `up ${stack}`,
  command: stackCommand(stack, "up", "--hosts", "3"),
});
export const downOf = (stack: string): Stage => ({
  name: `down ${stack}`,
  command: stackCommand(stack, "down", "--wipe"),
});
