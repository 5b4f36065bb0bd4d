import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import type { Duplex, Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { ImportBounds } from "./bounds.ts";
import { startSandboxed } from "./confine.ts";
import { openReadingPipe, type ReadingPipe } from "./reading-pipe.ts";

const KEPT_STDERR_CHARS = 2000;
const MEMORY_CHECK_MS = 100;
/** One heap for all threads, which reuses the same large allocations. */
const environment = { MALLOC_ARENA_MAX: "1", MALLOC_MMAP_THRESHOLD_: "33554432", MALLOC_TRIM_THRESHOLD_: "33554432" };
/** The child measures its own CPU time, and ends before the system would kill it. */
const SPARE_CPU_SECONDS = 60;
/** What V8 reserves for machine code (512 MB) and threads for their stacks: allocated, and hardly used. */
const RESERVED_BYTES = 640 * 1024 * 1024;
/** Memory outside of the heap is bounded by the number of chunks in progress. */
const node = [process.execPath, "--permission", "--max-old-space-size=48", "--max-semi-space-size=2"] as const;

/** Runs in the child first: reads the program from a pipe, and loads modules only from it. */
const loader = `
  import { readFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  const { entry, modules, meanings } = JSON.parse(readFileSync(4, "utf8"));
  registerHooks({
    resolve: (name, context, next) => {
      const url = name === entry ? entry : meanings[name + " " + context.parentURL];
      return url === undefined ? next(name, context) : { url, format: "module", shortCircuit: true };
    },
    load: (url, context, next) =>
      modules[url] === undefined ? next(url, context) : { format: "module", source: modules[url], shortCircuit: true },
  });
  await import(entry);
`;

/** Modules by address, and the resolution of their imports. */
type Program = { entry: string; modules: Record<string, string>; meanings: Record<string, string> };

type Child = {
  upload: Writable;
  chunks: ReadingPipe;
  reports: Readable;
  /** Resolves when the child has ended: how, and its last output. */
  ended: Promise<string>;
  peakBytes: () => number;
  kill: () => void;
};

let gathered: string | undefined;

/** Starts the process that reads the bytes. When it exceeds its memory it is killed, and `onFault` is called. */
export async function startChild(bounds: ImportBounds, onFault: (fault: Error) => void): Promise<Child> {
  gathered ??= JSON.stringify(gatherProgram(new URL("child/main.ts", import.meta.url)));
  const args = ["--input-type=module", "--eval", loader, "--", JSON.stringify(bounds)];
  const { ours: chunks, theirs } = await openReadingPipe();
  const sandboxed = await startSandboxed({
    command: [...node, ...args],
    environment,
    stdio: ["pipe", theirs, "pipe", "pipe", "pipe"],
    limits: { cpuSeconds: bounds.cpuSeconds + SPARE_CPU_SECONDS, dataBytes: bounds.memoryBytes + RESERVED_BYTES },
  });
  const { process: child } = sandboxed;
  let pid: number | undefined;
  void sandboxed.pid.then((number) => (pid = number));
  theirs.destroy();
  const [upload, , stderr, reports, source] = child.stdio as [Writable, null, Readable, Duplex, Duplex];
  // The child may end before it has read everything; `ended` reports that.
  for (const pipe of [upload, source]) pipe.on("error", () => {});
  source.end(gathered);

  let last = "";
  stderr.on("data", (output: Buffer) => {
    last = (last + output.toString("utf8")).slice(0, KEPT_STDERR_CHARS);
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(`${signal ?? `code ${code}`} ${last}`.trim()));
  });
  // The sandbox ends with the process in it, and has waited for it then.
  const kill = (): void => void sandboxed.pid.then((number) => end(child, number));

  let peak = 0;
  const readPeak = (): number => (peak = Math.max(peak, peakOf(pid)));
  const memoryTimer = setInterval(() => {
    if (readPeak() <= bounds.memoryBytes) return;
    onFault(new Error(`The importer took ${Math.round(peak / 1024 / 1024)} MB of memory.`));
    kill();
  }, MEMORY_CHECK_MS);
  void ended.finally(() => clearInterval(memoryTimer));
  return { upload, chunks, reports, ended, peakBytes: readPeak, kill };
}

/**
 * The child can open no file, and its user could often not read ours. So it gets its program from the parent:
 * everything that its entry imports, as JavaScript.
 */
function gatherProgram(entry: URL): Program {
  const program: Program = { entry: entry.href, modules: {}, meanings: {} };
  const waiting = [entry.href];
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (program.modules[url] !== undefined) continue;
    const source = stripTypeScriptTypes(readFileSync(new URL(url), "utf8"));
    program.modules[url] = source;
    for (const [, name = ""] of source.matchAll(/\bfrom "([^"]+)";$/gm)) {
      if (name.startsWith("node:")) continue;
      const meaning = name.startsWith(".") ? new URL(name, url).href : fileOf(name, url);
      program.meanings[`${name} ${url}`] = meaning;
      waiting.push(meaning);
    }
  }
  return program;
}

const fileOf = (name: string, from: string): string => pathToFileURL(createRequire(from).resolve(name)).href;

/** Ends the process in the sandbox. While the sandbox runs it has not been waited for, so its number is not another's. */
function end({ exitCode, signalCode }: ChildProcess, pid: number | undefined): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(pid, "SIGKILL");
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
