import { spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { inStack, stackDir } from "./paths.ts";
import { run } from "./run.ts";
import type { Service } from "./services.ts";
import { waitUntil } from "./wait-until.ts";
import { writeIfChanged } from "./write-if-changed.ts";

/** runit: one `runsv` per service restarts it whenever it ends, and `svlogd` writes its log. */
const servicesDir = inStack("services");
export const serviceDir = (name: string): string => join(servicesDir, name);
export const logFile = (name: string): string => inStack("log", name, "current");

/** Every process under the supervisor inherits this variable, so that `down` can identify ours after any crash. */
const mark = `MOORAGE_STACK_PROCESS=${stackDir}`;

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export async function writeServiceDir(service: Service): Promise<void> {
  const dir = serviceDir(service.name);
  const lines = [
    "#!/bin/sh",
    "exec 2>&1",
    ...Object.entries(service.env).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...(service.staleFile === undefined ? [] : [`rm -f ${quote(service.staleFile)}`]),
    `exec ${service.command.map(quote).join(" ")}`,
  ];
  await writeIfChanged(join(dir, "run"), `${lines.join("\n")}\n`, 0o755);
  const log = inStack("log", service.name);
  await writeIfChanged(join(log, "config"), "s10485760\nn5\n");
  await writeIfChanged(join(dir, "log", "run"), `#!/bin/sh\nexec svlogd ${quote(log)}\n`, 0o755);
  if (service.stopSignal !== undefined) {
    const control = `#!/bin/sh\nexec kill -${service.stopSignal} "$(cat supervise/pid)"\n`;
    await writeIfChanged(join(dir, "control", "t"), control, 0o755);
  }
  // `up` starts it, in order, when its dependencies are ready.
  await writeIfChanged(join(dir, "down"), "");
}

export async function ensureSupervisor(names: readonly string[]): Promise<void> {
  if (supervisorPids().length === 0) {
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, HOME, NODE_COMPILE_CACHE, MOORAGE_STACK_PROCESS: stackDir };
    spawn("runsvdir", ["-P", servicesDir], { detached: true, stdio: "ignore", env, cwd: "/" }).unref();
  }
  // runsvdir finds a new folder within five seconds. A fifo may be left from a crash, so sv is used to check.
  const ready = await waitUntil(300, async () => (await run("sv", ["status", ...names.map(serviceDir)])) !== "");
  if (!ready) throw new Error(`runsvdir does not supervise ${servicesDir}.`);
}

const supervisorPids = (): number[] => ours().filter((pid) => commandLine(pid).startsWith("runsvdir\0"));

/** On SIGHUP runsvdir ends and makes each runsv stop its service and end. Remaining processes are killed. */
export async function endSupervisor(): Promise<void> {
  for (const pid of supervisorPids()) signal(pid, "SIGHUP");
  const allEnded = (seconds: number): Promise<boolean> => waitUntil(seconds, async () => ours().length === 0);
  if (await allEnded(8)) return;
  for (const pid of ours().filter((each) => commandLine(each).startsWith("runsv\0"))) signal(pid, "SIGKILL");
  for (const pid of ours()) signal(pid, "SIGKILL");
  await allEnded(60);
}

/**
 * Processes of this stack: identified by the inherited variable; servers that overwrite it with their title (Postgres,
 * Valkey) by their data folder; monitors of containers by their command line.
 */
export const ours = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .map(Number)
    .filter(isOurs);

export const isOurs = (pid: number): boolean => hasMark(pid) || worksInData(pid) || isOurMonitor(commandLine(pid));

const hasMark = (pid: number): boolean => readProc(pid, "environ").split("\0").includes(mark);
const isOurMonitor = (line: string): boolean => /^[^\0]*conmon\0/.test(line) && line.includes(`${stackDir}/`);

function worksInData(pid: number): boolean {
  try {
    const folder = readlinkSync(`/proc/${pid}/cwd`);
    return `${folder}/`.startsWith(`${inStack("data")}/`) && !hasTerminal(pid);
  } catch {
    return false;
  }
}

/** A person's shell may be in that folder. The fields after the name: state, parent, group, session, terminal. */
const hasTerminal = (pid: number): boolean => readProc(pid, "stat").split(") ").at(-1)?.split(" ")[4] !== "0";

const commandLine = (pid: number): string => readProc(pid, "cmdline");

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // it ended meanwhile
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has already ended.
  }
}
