/** Starts and stops single services of a running stack: for people, and for tests that inject faults. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { engineFact } from "./image-store.ts";
import { attempt, run } from "./run.ts";
import { type Service, serviceTable } from "./services.ts";
import { isOurs, logFile, serviceDir } from "./supervisor.ts";
import { waitUntil } from "./wait-until.ts";

export const services = async (): Promise<Service[]> => serviceTable(await engineFact("sha256"));

async function find(name: string): Promise<Service> {
  const all = await services();
  const found = all.find((service) => service.name === name);
  if (found === undefined) {
    throw new Error(`There is no service ${name}; there are ${all.map((each) => each.name).join(", ")}.`);
  }
  return found;
}

/** Does not wait for health: see `waitHealthy`. */
export async function start(names: readonly string[]): Promise<void> {
  for (const name of names) await find(name);
  if (names.length > 0) await run("sv", ["up", ...names.map(serviceDir)]);
}

/** Returns when the processes have ended, killed after fifteen seconds if necessary. They stay down until `start`. */
export async function stop(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await attempt("sv", ["-w", "15", "force-stop", ...names.map(serviceDir)]);
  const left = (): string[] => names.filter((name) => pidOf(name) !== undefined);
  // A killed process ends a moment after the signal.
  if (!(await waitUntil(20, async () => left().length === 0)))
    throw new Error(`Still running after a stop: ${left().join(", ")}.`);
}

/** A killed process still exists for a moment: it is not the one that the supervisor starts. */
const killed = new Map<string, number>();

/** Kills the process with SIGKILL; the supervisor restarts it. */
export function kill(name: string): void {
  const pid = pidOf(name);
  if (pid === undefined) throw new Error(`${name} is not running.`);
  process.kill(pid, "SIGKILL");
  killed.set(name, pid);
}

/** The pid file survives a crash of the machine; its number may then belong to an unrelated process. */
export function pidOf(name: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(serviceDir(name), "supervise/pid"), "utf8"));
    return pid > 0 && pid !== killed.get(name) && isOurs(pid) ? pid : undefined;
  } catch {
    return undefined;
  }
}

export async function isHealthy(name: string): Promise<boolean> {
  const { healthy } = await find(name);
  return pidOf(name) !== undefined && (healthy === undefined || (await healthy().catch(() => false)));
}

export async function waitHealthy(name: string, seconds = 600): Promise<void> {
  const { healthy } = await find(name);
  const ready = await waitUntil(seconds, async () => pidOf(name) !== undefined && (healthy === undefined || healthy()));
  if (!ready) throw new Error(`${name} is not healthy after ${seconds} s; its log: ${logFile(name)}`);
}

/** Whether a source file changed after the service was started. */
export function isStale(service: Service): boolean {
  const startedAt = newest(join(serviceDir(service.name), "supervise/pid"));
  return [join(serviceDir(service.name), "run"), ...service.sources].some((source) => newest(source) > startedAt);
}

/** The latest modification of a file, or of any file in a folder that is not a test. */
export function newest(path: string): number {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) return 0;
  if (!info.isDirectory()) return info.mtimeMs;
  const inside = readdirSync(path).filter((name) => !name.endsWith(".test.ts"));
  return Math.max(0, ...inside.map((name) => newest(join(path, name))));
}
