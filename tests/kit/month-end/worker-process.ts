import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Fault } from "@moorage/crash-points";
import { freePort } from "@moorage/testkit/free-port.ts";
import { inStack, node } from "../../../tools/stack/paths.ts";
import { controlPlaneEnv, controlPlaneProgram } from "../../../tools/stack/services.ts";

/** The worker's own program with a separate database and namespace, so that the stack's is not affected. */
export function workerPrograms(databaseUrl: string, accountsEach: number) {
  const namespace = `month-end-${Date.now()}`;
  const crashes = mkdtempSync(join(tmpdir(), "moorage-month-end-"));
  const living = new Map<ChildProcess, Promise<void>>();
  // Where a failed drill looks for warnings.
  const log = inStack("log", "month-end-worker", "current");
  mkdirSync(dirname(log), { recursive: true });

  return {
    log,
    async start(fault?: Fault) {
      rmSync(join(crashes, "armed"), { force: true });
      if (fault !== undefined) writeFileSync(join(crashes, "armed"), JSON.stringify(fault));
      const out = openSync(log, "a");
      const child = spawn(node, [controlPlaneProgram("worker")], {
        env: {
          ...process.env,
          ...controlPlaneEnv("worker"),
          DATABASE_URL: databaseUrl,
          TEMPORAL_NAMESPACE: namespace,
          MOORAGE_WORKER_LISTEN: `127.0.0.1:${await freePort()}`,
          MOORAGE_CRASH_DIR: crashes,
          MOORAGE_SWEEP_SECONDS: "1",
          MOORAGE_INVOICE_DELAY_SECONDS: "0",
          MOORAGE_INVOICE_RUN_ACCOUNTS: String(accountsEach),
          LOG_LEVEL: "warn",
        },
        stdio: ["ignore", out, out],
      });
      const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      closeSync(out);
      living.set(child, ended);
      void ended.then(() => living.delete(child));
      return {
        pid: child.pid as number,
        ended,
        kill: async (signal: "SIGKILL" | "SIGTERM") => {
          child.kill(signal);
          await ended;
        },
      };
    },
    /** Also after a failed drill: no process may keep using a database that is dropped. */
    async [Symbol.asyncDispose]() {
      for (const child of living.keys()) child.kill("SIGKILL");
      await Promise.all(living.values());
      rmSync(crashes, { recursive: true });
    },
  };
}
export type WorkerPrograms = ReturnType<typeof workerPrograms>;
