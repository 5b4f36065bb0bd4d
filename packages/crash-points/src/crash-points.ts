/**
 * Every boundary at which a process could die, by name.
 *
 * Code runs its steps through `step`. In production that is a plain call. When MOORAGE_CRASH_DIR is set, a test
 * can arm one fault by writing `armed` in that folder; the first process that reaches the named step takes the
 * fault (the rename makes it happen once) and, where asked, dies by SIGKILL, as in a power cut.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** `timeout` is the fault that finds double effects: the work is done, but the caller is told that it was not. */
export type FaultMode = "kill-before" | "kill-after" | "repeat" | "timeout";
export type Fault = { step: string; mode: FaultMode };

const folder = process.env["MOORAGE_CRASH_DIR"];

export class InjectedTimeout extends Error {
  override readonly name = "InjectedTimeout";
}

export async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  if (folder === undefined) return work();
  trace(folder, name);
  const fault = takeFault(folder, name);
  if (fault === "kill-before") die();
  const result = await work();
  if (fault === "kill-after") die();
  if (fault === "repeat") return work();
  if (fault === "timeout") throw new InjectedTimeout(`${name} was done, and reported as a timeout`);
  return result;
}

/** Tells the tests which steps this process has, so that their list comes from the code. */
export function announceSteps(process_: string, steps: readonly string[]): void {
  if (folder === undefined) return;
  mkdirSync(join(folder, "steps"), { recursive: true });
  writeWhole(join(folder, "steps", `${process_}.json`), JSON.stringify([...steps].sort()));
}

/** While a file `trace` is there, it gets the name of every step reached: what a flow really passes through. */
function trace(dir: string, name: string): void {
  const file = join(dir, "trace");
  if (existsSync(file)) appendFileSync(file, `${name}\n`);
}

function takeFault(dir: string, name: string): FaultMode | undefined {
  let armed: Fault;
  try {
    armed = JSON.parse(readFileSync(join(dir, "armed"), "utf8")) as Fault;
  } catch {
    return undefined;
  }
  if (armed.step !== name) return undefined;
  try {
    renameSync(join(dir, "armed"), join(dir, "fired"));
  } catch {
    return undefined; // another process was first
  }
  writeWhole(join(dir, "fired"), JSON.stringify({ ...armed, pid: process.pid, at: new Date().toISOString() }));
  return armed.mode;
}

function writeWhole(path: string, text: string): void {
  const file = openSync(path, "w");
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is delivered before the next instruction of this thread in practice; never go on if it is not.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
}
