import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import type { ImportBounds } from "./bounds.ts";
import { confined } from "./confine.ts";
import { gatherProgram, loader } from "./program.ts";
import { openReadingPipe, type ReadingPipe } from "./reading-pipe.ts";

const KEPT_STDERR_CHARS = 2000;
const MEMORY_CHECK_MS = 100;
/** One heap for all threads, which reuses the same large allocations. */
const environment = { MALLOC_ARENA_MAX: "1", MALLOC_MMAP_THRESHOLD_: "33554432", MALLOC_TRIM_THRESHOLD_: "33554432" };
/** The child measures its own CPU time, and ends before the system would kill it. */
const SPARE_CPU_SECONDS = 60;

export type Child = {
  upload: Writable;
  chunks: ReadingPipe;
  reports: Readable;
  /** Resolves when the child has ended: how, and its last output. */
  ended: Promise<string>;
  peakBytes: () => number;
  kill: () => void;
};

let program: string | undefined;

/** Starts the process that reads the bytes. When it exceeds its memory it is killed, and `onFault` is called. */
export async function startChild(bounds: ImportBounds, onFault: (fault: Error) => void): Promise<Child> {
  program ??= JSON.stringify(gatherProgram(new URL("child/main.ts", import.meta.url)));
  const args = ["--input-type=module", "--eval", loader, "--", JSON.stringify(bounds)];
  const [command, ...rest] = await confined(bounds.cpuSeconds + SPARE_CPU_SECONDS, args);
  const { ours: chunks, theirs } = await openReadingPipe();
  const child = spawn(command, rest, {
    env: environment,
    cwd: "/",
    detached: true,
    stdio: ["pipe", theirs, "pipe", "pipe", "pipe"],
  });
  theirs.destroy();
  const [upload, , stderr, reports, source] = child.stdio as [Writable, null, Readable, Duplex, Duplex];
  // The child may end before it has read everything; `ended` reports that.
  for (const pipe of [upload, source]) pipe.on("error", () => {});
  source.end(program);

  let last = "";
  stderr.on("data", (output: Buffer) => {
    last = (last + output.toString("utf8")).slice(0, KEPT_STDERR_CHARS);
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(`${signal ?? `code ${code}`} ${last}`.trim()));
  });
  const kill = (): void => killGroup(child);

  let peak = 0;
  const readPeak = (): number => (peak = Math.max(peak, peakOf(child.pid)));
  const memoryTimer = setInterval(() => {
    if (readPeak() <= bounds.memoryBytes) return;
    onFault(new Error(`The importer took ${Math.round(peak / 1024 / 1024)} MB of memory.`));
    kill();
  }, MEMORY_CHECK_MS);
  void ended.finally(() => clearInterval(memoryTimer));
  return { upload, chunks, reports, ended, peakBytes: readPeak, kill };
}

/** A process group of its own, so that no descendant remains. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

function peakOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
