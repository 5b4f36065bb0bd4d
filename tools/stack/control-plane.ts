import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { controlPlaneEnv, controlPlaneProgram, controlPlaneSources, workflowBundle } from "./services.ts";
import { newest } from "./control.ts";
import { node } from "./paths.ts";
import { logFile } from "./supervisor.ts";

/** Brings the schema up to date and registers the Temporal namespace; safe to repeat. */
export async function migrate(): Promise<void> {
  await runLogged("migrate", []);
}

/** Built once per change of the sources instead of at each start of a worker, which takes seconds. */
export async function ensureWorkflowBundle(): Promise<void> {
  const built = newest(workflowBundle);
  if (built > 0 && controlPlaneSources.every((source) => newest(source) <= built)) return;
  await runLogged("bundle-workflows", [workflowBundle]);
}

/** Its output goes to a log file, like that of the services. */
async function runLogged(name: string, args: readonly string[]): Promise<void> {
  const log = logFile(name);
  await mkdir(dirname(log), { recursive: true });
  const output = openSync(log, "a");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(node, [controlPlaneProgram(name), ...args], {
    env: { ...process.env, ...controlPlaneEnv() },
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  child.on("error", reject);
  child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`${name} failed; its log: ${log}`))));
  return promise;
}
