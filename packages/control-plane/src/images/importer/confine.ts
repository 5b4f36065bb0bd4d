import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The user without any rights. */
const NOBODY = "65534";
const asNobody = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
const withoutRights = ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--pdeathsig=KILL"];
const ownNetwork = ["unshare", "--user", "--map-root-user", "--net"];
/**
 * The process can write no file, leaves no core and has a few descriptors. `setpriv` comes last: what follows has no
 * rights.
 */
const limits = (cpuSeconds: number): string[] => [
  "prlimit",
  `--cpu=${Math.ceil(cpuSeconds)}`,
  "--fsize=0",
  "--core=0",
  "--nofile=64",
];
/** Memory outside of the heap is bounded by the number of chunks in progress. */
const node = [process.execPath, "--permission", "--max-old-space-size=48", "--max-semi-space-size=2"];

type Way = (cpuSeconds: number) => string[];

const waysOfRoot: readonly Way[] = [
  (cpu) => ["unshare", "--net", ...limits(cpu), "setpriv", ...asNobody, ...withoutRights],
  // Where root may not create a network namespace, as in most containers, an ordinary user may create one with a user
  // namespace.
  (cpu) => ["setpriv", ...asNobody, ...ownNetwork, ...limits(cpu), "setpriv", ...withoutRights],
];
const waysOfOthers: readonly Way[] = [(cpu) => [...ownNetwork, ...limits(cpu), "setpriv", ...withoutRights]];

let found: Promise<Way> | undefined;

/** The command that runs a Node program without network, files or rights, and that ends with its parent. */
export async function confined(cpuSeconds: number, args: readonly string[]): Promise<[string, ...string[]]> {
  found ??= findWay();
  return [...(await found)(cpuSeconds), ...node, ...args] as [string, ...string[]];
}

/** Called when a process that needs it starts, so that the operator learns of a fault then. */
export async function requireImporter(): Promise<void> {
  await confined(1, []);
}

async function findWay(): Promise<Way> {
  const faults: string[] = [];
  for (const way of process.getuid?.() === 0 ? waysOfRoot : waysOfOthers) {
    const [program, ...args] = [...way(10), ...node, "--eval", ""];
    const fault = await run(program, args, { env: {}, cwd: "/" }).then(
      () => undefined,
      (error: Error & { stderr?: string }) => error.stderr?.trim() || error.message,
    );
    if (fault === undefined) return way;
    faults.push(fault);
  }
  found = undefined;
  throw new Error(
    `Uploaded images cannot be read here: the process that does it must have no network, and none could be started so. Install util-linux (unshare, setpriv, prlimit), and allow user namespaces or run the worker as root. (${faults.join("; ").slice(0, 500)})`,
  );
}
