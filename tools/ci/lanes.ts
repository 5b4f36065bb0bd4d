import { join } from "node:path";

/** A program and its settings. `nice` lets programs of other lanes go first. */
export type Stage = { name: string; command: string[]; env?: Record<string, string>; nice?: number };

const node = process.execPath;
const program = (path: string, ...args: string[]): string[] => [node, path, ...args];
const vitest = (project: string, ...args: string[]): string[] =>
  program(join("node_modules", "vitest", "vitest.mjs"), "run", "--project", project, ...args);
export const stackCommand = (name: string, ...args: string[]): string[] =>
  program("tools/stack/stack.ts", ...args, "--name", name);

const INTEGRATION_SHARDS = 2;
const shards = Array.from({ length: INTEGRATION_SHARDS }, (_, index) => index + 1);

/** These need the processors for most of their time, and nobody times them: the servers of the stacks go first. */
const withoutStack: Stage[] = [
  { name: "check", command: program("tools/check.ts") },
  { name: "unit", command: vitest("unit") },
  ...shards.map((shard) => ({
    name: `integration-${shard}`,
    command: vitest("integration", "--shard", `${shard}/${INTEGRATION_SHARDS}`),
  })),
  { name: "schema", command: program("tools/previous-tests-on-new-schema.ts") },
].map((stage) => ({ ...stage, nice: 19 }));

/** Stages of a lane run one after the other, between `up` and `down` of its stack if it has one. */
export type Lane = { stack?: string; stages: Stage[] };

/**
 * Lanes run at the same time. Suites on a stack mostly wait for it, so two of them and the tests that need no stack
 * share two processors. Names of stacks are short because paths of sockets below them are limited.
 */
export const lanes: Lane[] = [
  { stages: withoutStack },
  {
    stack: "a",
    stages: [
      // The tenant's story by itself is of 1,024 MB.
      { name: "system", command: vitest("system"), env: { MOORAGE_LIFECYCLE_MB: "256" } },
      // What the system tests used is looked for on their stack.
      { name: "secrets", command: program("tests/security/secret-scan.ts") },
    ],
  },
  { stack: "b", stages: [{ name: "faults", command: program("tests/faults/run.ts", "--ci") }] },
];

/** On the stack that has nothing else to do, the longest first. */
export const onAnyStack: Stage[] = [
  { name: "conformance", command: program("tests/conformance/run.ts", "--ci") },
  { name: "cards", command: program("tests/security/card-canary.ts", "--cards", "100") },
  { name: "hostile", command: program("tests/hostile/run.ts", "--ci") },
];

export const upOf = (stack: string): Stage => ({
  name: `up ${stack}`,
  command: stackCommand(stack, "up", "--hosts", "3"),
});
export const downOf = (stack: string): Stage => ({
  name: `down ${stack}`,
  command: stackCommand(stack, "down", "--wipe"),
});
