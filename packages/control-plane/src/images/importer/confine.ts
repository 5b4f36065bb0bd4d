import { type ChildProcess, execFile, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { compileFilter } from "./compile-filter.ts";
import { systemCalls } from "./system-calls.ts";

/** The descriptors that the sandbox uses itself. Lower ones belong to the program. */
const [FILTER, INFO] = [5, 6];

/** Limits that the kernel keeps. `dataBytes`: private memory, as allocated; shared memory the process cannot have. */
export type SandboxLimits = { cpuSeconds: number; dataBytes: number };

export type Sandboxed = {
  process: ChildProcess;
  /** Resolves to the process in the sandbox; undefined if it did not start. */
  pid: Promise<number | undefined>;
};

/** A program and its standard streams, of which there may be five: 0 to 4. */
type Order = {
  command: readonly [program: string, ...args: string[]];
  environment?: Record<string, string>;
  stdio: readonly ("ignore" | "pipe" | Duplex)[];
  limits: SandboxLimits;
};

/**
 * Starts a program in a sandbox of its own: it has namespaces of its own, no capabilities, no file but its program and the
 * libraries of it, and only the system calls in system-calls.ts. It ends with its parent.
 */
export async function startSandboxed({ command, environment = {}, stdio, limits }: Order): Promise<Sandboxed> {
  const [program] = command;
  const libraries = await librariesOf(program);
  const user = takeUser();
  const from = user === undefined ? program : SHOWN;
  const [outer = "", ...args] = [
    ...asUser(user?.id, program),
    ...limitsOf(limits),
    ...bubblewrap([[from, program], ...libraries.map((file) => [file, file] as const)]),
    ...command,
  ];
  const empty = Array<"ignore">(FILTER - stdio.length).fill("ignore");
  const child: ChildProcess = spawn(outer, args, {
    env: environment,
    cwd: "/",
    detached: true,
    stdio: [...stdio, ...empty, "pipe", "pipe"],
  });
  for (const event of ["close", "error"]) child.once(event, () => user?.free());
  const [filter, info] = [child.stdio[FILTER], child.stdio[INFO]] as [Duplex, Readable];
  // If the sandbox cannot be made, its exit code and output say why.
  for (const pipe of [filter, info]) pipe?.on("error", () => {});
  filter?.end(compileFilter(systemCalls));
  return { process: child, pid: info === undefined ? Promise.resolve(undefined) : readPid(info) };
}

async function readPid(info: Readable): Promise<number | undefined> {
  try {
    return (JSON.parse(await text(info)) as { "child-pid": number })["child-pid"];
  } catch {
    return undefined;
  }
}

/** Where root shows the program to the user of the sandbox, who may not reach it: it may lie in the folder of root. */
const SHOWN = "/mnt/program";
/** In a mount namespace that only the sandbox sees. */
const SHOW = `mount -t tmpfs -o mode=0755,size=4k moorage /mnt; : > ${SHOWN}; mount --bind "$0" ${SHOWN}; exec "$@"`;

/** A sandbox needs namespaces, which a user without rights makes; root becomes such a user first. */
function asUser(id: number | undefined, program: string): string[] {
  if (id === undefined) return [];
  const show = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", SHOW, program];
  return [...show, "setpriv", `--reuid=${id}`, `--regid=${id}`, "--clear-groups"];
}

/** In a user namespace of its own, where the limit of processes counts those of the sandbox alone. */
const limitsOf = ({ cpuSeconds, dataBytes }: SandboxLimits): string[] => [
  "unshare",
  "--user",
  "--map-current-user",
  "prlimit",
  `--cpu=${Math.ceil(cpuSeconds)}`,
  `--data=${dataBytes}`,
  "--fsize=0",
  "--core=0",
  "--nofile=64",
  "--nproc=64",
];

/** The process is number 1 of its namespace, so that no descendant outlives it. */
const bubblewrap = (files: readonly (readonly [from: string, to: string])[]): string[] => [
  "bwrap",
  "--unshare-user",
  "--unshare-all",
  "--as-pid-1",
  "--die-with-parent",
  "--cap-drop",
  "ALL",
  ...files.flatMap(([from, to]) => ["--ro-bind", from, to]),
  "--remount-ro",
  "/",
  "--seccomp",
  String(FILTER),
  "--info-fd",
  String(INFO),
  "--",
];

/**
 * Where the worker is root, each process has a user of its own: 16 numbers for each process id that the kernel can
 * give, 2,010,000,000 to 2,077,108,863. The users of nodes come before them.
 */
const [FIRST_USER, USERS, MOST_PIDS] = [2_010_000_000, 16, 2 ** 22];
const freeUsers = Array.from({ length: USERS }, (_, place) => FIRST_USER + (process.pid % MOST_PIDS) * USERS + place);

function takeUser(): { id: number; free: () => void } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = freeUsers.shift();
  if (id === undefined) throw new Error(`At most ${USERS} uploads are read at once.`);
  let isFree = false;
  const free = (): void => {
    if (!isFree) freeUsers.push(id);
    isFree = true;
  };
  return { id, free };
}

const run = promisify(execFile);
const found = new Map<string, Promise<string[]>>();

/** What the loader of a program opens. */
function librariesOf(program: string): Promise<string[]> {
  const files =
    found.get(program) ?? run("ldd", [program]).then(({ stdout }) => stdout.match(/(?<=\s)\/\S+(?= \(0x)/g) ?? []);
  found.set(program, files);
  files.catch(() => found.delete(program));
  return files;
}

/** Called when a process that needs it starts, so that the operator learns of a fault then. */
export async function requireImporter(): Promise<void> {
  const fault = await faultOf([process.execPath, "--eval", ""]).catch((error: Error) => error.message);
  if (fault === undefined) return;
  throw new Error(
    `Uploaded images cannot be read here: the process that does it must be confined, and none could be started so. Install bubblewrap and util-linux, and allow users to create user namespaces (user.max_user_namespaces). (${fault.slice(0, 500)})`,
  );
}

async function faultOf(command: Order["command"]): Promise<string | undefined> {
  const limits = { cpuSeconds: 10, dataBytes: 2 ** 30 };
  const sandboxed = await startSandboxed({ command, stdio: ["ignore", "ignore", "pipe"], limits });
  const { stderr } = sandboxed.process;
  const code = new Promise<number | string>((resolve) => {
    sandboxed.process.once("error", (error) => resolve(error.message));
    sandboxed.process.once("close", (status, signal) => resolve(status ?? signal ?? ""));
  });
  const output = stderr === null ? "" : await text(stderr).catch(String);
  const end = await code;
  return end === 0 ? undefined : `${end} ${output.trim()}`.trim();
}
