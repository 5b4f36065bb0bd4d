/**
 * Runs all lanes of lanes.ts. The output of a stage goes to a file and is printed when the stage ends. The first stage
 * that fails stops the others, unless `--all` is given; all stacks are taken down in any case.
 *
 *   node tools/ci/run.ts [--begun MS] [--only NAME,NAME] [--all]     after bin/setup; --begun: when it was started
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { commitNumber } from "./commit-number.ts";
import { cpuOfChildren, cpuOfMachine, processors } from "./cpu.ts";
import { downOf, lanes, type Part, type Stage, stackCommand, upOf } from "./lanes.ts";
import { type Running, startStage } from "./stage.ts";

const { values } = parseArgs({
  options: { begun: { type: "string" }, only: { type: "string" }, all: { type: "boolean" } },
});
const begun = Number(values.begun ?? Date.now());
const only = values.only?.split(",");
// Stages pass it to tests whose short form is another part of the cases with each commit.
process.env["MOORAGE_TURN"] ??= String(commitNumber());
const machineBefore = cpuOfMachine();

const root = join(import.meta.dirname, "../..");
process.chdir(root);
const folder = join(root, ".ci", "runs", new Date().toISOString().slice(0, 19).replaceAll(":", ""));
mkdirSync(folder, { recursive: true });

type Row = { name: string; seconds: number; cpu: number; state: "ok" | "FAILED" | "ended" };
const rows: Row[] = [];
const running = new Set<Running>();
let isEnding = false;

const since = (ms: number): number => (Date.now() - ms) / 1000;
const print = (text: string): boolean => process.stdout.write(`${text}\n`);

async function runStage(stage: Stage, stack?: string): Promise<void> {
  if (isEnding) return;
  const started = Date.now();
  const log = join(folder, `${stage.name.replaceAll(" ", "-")}.log`);
  print(`--- ${stage.name} begins${stack === undefined ? "" : ` on ${stack}`}: ${stage.command.slice(1).join(" ")}`);
  const child = startStage(stage, log, stack);
  running.add(child);
  const { passed, cpu } = await child.ended;
  running.delete(child);
  const state = passed ? "ok" : isEnding ? "ended" : "FAILED";
  const row = { name: stage.name, seconds: since(started), cpu, state } as const;
  rows.push(row);
  print(`\n=== ${line(row)}`);
  if (state === "ended") print(`its log: ${log}`);
  else print(readFileSync(log, "utf8").trimEnd());
  if (state !== "FAILED") return;
  if (!values.all) endAll();
  if (stack !== undefined) await showStatus(stack);
}

async function showStatus(stack: string): Promise<void> {
  const log = join(folder, `status-${stack}.log`);
  await startStage({ name: "status", command: stackCommand(stack, "status") }, log).ended;
  print(readFileSync(log, "utf8").trimEnd());
}

async function runPart({ stack, stages }: Part): Promise<void> {
  const chosen = stages.filter(({ name }) => only === undefined || only.includes(name));
  if (chosen.length === 0) return;
  const withStack = stack === undefined ? chosen : [upOf(stack), ...chosen, downOf(stack)];
  for (const stage of withStack) await runStage(stage, stack);
}

async function runLane(parts: readonly Part[]): Promise<void> {
  for (const part of parts) await runPart(part);
}

function endAll(): void {
  isEnding = true;
  for (const child of running) child.end();
}

/** Removes the stacks that a killed run left behind, and at the end those of this run. */
async function wipeStacks(name: string): Promise<void> {
  await Promise.all(
    lanes.flat().map(async ({ stack }) => {
      if (stack === undefined) return;
      const log = join(folder, `${name}-${stack}.log`);
      const { passed } = await startStage(downOf(stack), log).ended;
      if (!passed) throw new Error(`${stack} cannot be taken down: ${readFileSync(log, "utf8")}`);
    }),
  );
}

function line({ name, seconds, cpu, state }: Row): string {
  return `${name.padEnd(14)} ${seconds.toFixed(1).padStart(8)} s  ${cpu.toFixed(1).padStart(8)} s of CPU  ${state}`;
}

function printTimes(passed: boolean): void {
  const seconds = since(begun);
  const cpu = cpuOfMachine() - machineBefore;
  print("\n=== times (CPU of a stage: of its own programs, without the parts of a stack)");
  for (const row of rows) print(line(row));
  print(line({ name: "total", seconds, cpu, state: passed ? "ok" : "FAILED" }));
  print(`${((100 * cpu) / processors / since(startedAt)).toFixed(0)} % of ${processors} processors; logs: ${folder}`);
}

const startedAt = Date.now();
if (values.begun !== undefined) rows.push({ name: "setup", seconds: since(begun), cpu: cpuOfChildren(), state: "ok" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, endAll);
// Nobody reads the output any more.
process.stdout.on("error", endAll);

await wipeStacks("wipe-before");
await Promise.all(lanes.map(runLane));
let isClean = true;
await wipeStacks("wipe-after").catch((error: unknown) => {
  isClean = false;
  print(String(error));
});
const passed = isClean && !isEnding && rows.every(({ state }) => state === "ok");
printTimes(passed);
process.exitCode = passed ? 0 : 1;
