import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { partsDir, removeFolder } from "@moorage/testkit/folders.ts";

export const enginesDir = join(partsDir, "engines");
const program = (name: string): string => join(import.meta.dirname, "..", "bin", `${name}.ts`);

const containersConf = join(import.meta.dirname, "../../../../tools/stack/containers.conf");

/** The engine's image as unpacked for the machine by `tools/stack/podman.ts`. A host's own imports go elsewhere. */
function unpackedImage(): string[] {
  const image = readFileSync(join(enginesDir, "mysql", "sha256"), "utf8").slice(0, 16);
  const store = join(partsDir, "image-stores", image);
  return existsSync(join(store, "complete")) ? ["--storage-opt", `overlay.imagestore=${store}`] : [];
}

export const sh = (command: string): string => execFileSync("sh", ["-c", command], { encoding: "utf8", stdio: "pipe" });

/**
 * An isolated host: namespace, podman, folders. `close` removes all of it, whatever happened. The test is a client on
 * the other end of the cable, with two addresses: `outside` and `stranger`. Unless it is `bare`, it already has the
 * engine's image, which takes an agent ten seconds to import.
 */
export async function makeTestHost(name: string, subnet: string, { bare = false } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "moor-"));
  const [state, crash] = [join(dir, "state"), join(dir, "crash")];
  const [outside, inside, stranger] = [`${subnet}.1`, `${subnet}.2`, `${subnet}.9`];
  const [outside6, inside6] = [`fd00:${subnet.replaceAll(".", ":")}::1`, `fd00:${subnet.replaceAll(".", ":")}::2`];
  const nodes: string[] = [];
  const namespace = name;
  mkdirSync(crash);
  const plugIn = () =>
    sh(`ip link add ${name} type veth peer name up0 netns ${name} &&
      ip addr add ${outside}/30 dev ${name} && ip addr add ${stranger}/32 dev ${name} && ip link set ${name} up &&
      ip -n ${name} addr add ${inside}/30 dev up0 && ip -n ${name} link set up0 up && ip -n ${name} link set lo up &&
      ip -n ${name} route add default via ${outside} && ip route add ${subnet}.64/26 via ${inside} &&
      ip addr add ${outside6}/64 dev ${name} nodad && ip -n ${name} addr add ${inside6}/64 dev up0 nodad`);
  // Leftovers of a killed run would be in the way.
  sh(`ip link delete ${name} 2>/dev/null; ip netns delete ${name} 2>/dev/null; ip netns add ${name}`);
  plugIn();
  const podmanSocket = join(dir, "podman.sock");
  // Its own folders for all three: podman's default ones, and the locks in them, are shared by the machine.
  const folders = { "--root": "podman", "--runroot": "podman-run", "--tmpdir": "podman-tmp" };
  const podmanArgs = Object.entries(folders).flatMap(([option, folder]) => [option, join(dir, folder)]);
  podmanArgs.push("--storage-driver", "overlay", ...(bare ? [] : unpackedImage()));
  const podmanEnv = { ...process.env, CONTAINERS_CONF: containersConf };
  const service = spawn("podman", [...podmanArgs, "system", "service", "--time=0", `unix://${podmanSocket}`], {
    env: podmanEnv,
    stdio: "ignore",
  });
  await until("podman's socket", () => existsSync(podmanSocket));
  const podman = (...args: string[]) =>
    execFileSync("podman", [...podmanArgs, ...args], { env: podmanEnv, encoding: "utf8", stdio: "pipe" });

  let [agent, gatekeeper]: [ChildProcess | undefined, ChildProcess | undefined] = [undefined, undefined];
  async function stopAgent(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    agent?.kill(signal);
    await agentExit();
  }
  async function stopGatekeeper(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    gatekeeper?.kill(signal);
    await until("the gatekeeper's end", () => hasEnded(gatekeeper));
  }

  const agentHasEnded = (): boolean => hasEnded(agent);
  async function agentExit(): Promise<void> {
    await until("the agent's end", agentHasEnded);
  }

  function start(what: "agent" | "gatekeeper", environment: Record<string, string>): ChildProcess {
    // With real-time priority, as in its systemd unit: it has little to do, and one second to do it.
    const first = what === "gatekeeper" ? ["chrt", "--rr", "1"] : [];
    const child = spawn("nsenter", [`--net=/run/netns/${namespace}`, ...first, process.execPath, program(what)], {
      env: {
        ...process.env,
        MOORAGE_AGENT_DIR: state,
        MOORAGE_PODMAN_SOCKET: podmanSocket,
        MOORAGE_ENGINES_DIR: enginesDir,
        LOG_LEVEL: "debug",
        ...environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const log = createWriteStream(join(dir, `${what}.log`), { flags: "a" });
    child.stdout?.pipe(log);
    child.stderr?.pipe(log);
    return child;
  }

  /** Proxies outlive their agent. */
  function endProxies(): void {
    sh(`cat ${join(state, "proxies", "*", "haproxy.pid")} 2>/dev/null | xargs -r kill -9 || true`);
  }

  return {
    agentExit,
    agentHasEnded,
    namespace,
    dir,
    state,
    crash,
    outside,
    inside,
    stranger,
    outside6,
    inside6,
    podman,
    podmanBytes: (...args: string[]): Buffer =>
      execFileSync("podman", [...podmanArgs, ...args], { env: podmanEnv, stdio: "pipe", maxBuffer: 1 << 30 }),
    /** Of a node's server. 0: it does not run, or its container is being replaced. */
    serverPid(node: string): number {
      try {
        return Number(podman("inspect", "--format", "{{.State.Pid}}", `moorage-${node}`));
      } catch {
        return 0;
      }
    },
    nft: (command: string) => sh(`ip netns exec ${name} nft ${command}`),
    /** A power failure. `atBoot` is what the machine does at boot before it has a network; the agent is not started. */
    async reboot(atBoot: (namespace: string) => void): Promise<void> {
      await stopAgent("SIGKILL");
      await stopGatekeeper("SIGKILL");
      endProxies();
      podman("kill", "--all");
      for (const node of nodes) {
        sh(`ip netns delete moor-n-${node.slice(0, 8)}; umount ${join(state, "nodes", node, "volume")}
          losetup -j ${join(state, "volumes", `${node}.img`)} | cut -d: -f1 | xargs -r losetup -d || true`);
      }
      sh(`ip link delete ${name}; ip netns delete ${name} && ip netns add ${name}`);
      atBoot(name);
      plugIn();
    },
    address: (n: number) => `${subnet}.${64 + n}`,
    known: (node: string) => nodes.push(node),
    log: () => readFileSync(join(dir, "agent.log"), "utf8"),
    /** What the agent logs from now on. */
    newLog(): () => string {
      const file = join(dir, "agent.log");
      const { size } = statSync(file);
      return () => readFileSync(file).subarray(size).toString("utf8");
    },
    stopAgent,
    startAgent(environment: Record<string, string>): void {
      agent = start("agent", environment);
    },
    stopGatekeeper,
    startGatekeeper(environment: Record<string, string>): void {
      gatekeeper = start("gatekeeper", environment);
    },
    gatekeeperPid: () => gatekeeper?.pid,
    endProxies,
    async close(): Promise<void> {
      await stopAgent("SIGKILL");
      await stopGatekeeper("SIGKILL");
      endProxies();
      const tidy = (command: string) => {
        try {
          sh(command);
        } catch {
          // already removed
        }
      };
      try {
        podman("rm", "--all", "--force", "--time", "0");
      } catch {
        // podman itself is broken; the rest continues
      }
      const ended = new Promise((resolve) => service.once("exit", resolve));
      service.kill();
      await ended;
      // Also for nodes that a test did not name: the agent may have been killed between any two steps.
      const stateFolders = ["specs", "nodes", "tombstones"].map((folder) => join(state, folder)).filter(existsSync);
      const spaces = [...nodes, ...stateFolders.flatMap((folder) => readdirSync(folder))].map((each) =>
        each.slice(0, 8),
      );
      for (const space of new Set(spaces)) tidy(`ip netns delete moor-n-${space}`);
      if (existsSync(join(state, "nodes")))
        for (const node of readdirSync(join(state, "nodes"))) tidy(`umount ${join(state, "nodes", node, "volume")}`);
      tidy(`losetup -a | grep ${dir} | cut -d: -f1 | xargs -r losetup -d`);
      tidy(`ip link delete ${name}`);
      tidy(`ip netns delete ${name}`);
      // A container's monitor may still be writing, and mount podman's storage once more while it cleans up.
      for (let attempt = 1; ; attempt++) {
        tidy(`grep -o '${dir}[^ ]*' /proc/mounts | sort -r | xargs -r -n1 umount --lazy`);
        try {
          return removeFolder(dir);
        } catch (error) {
          if (attempt === 10) throw error;
        }
      }
    },
  };
}
const hasEnded = (child: ChildProcess | undefined): boolean =>
  child === undefined || child.exitCode !== null || child.signalCode !== null;
export type TestHost = Awaited<ReturnType<typeof makeTestHost>>;

/** Long, so that it only ends what hangs: a busy machine takes many times as long as an idle one. */
const PATIENCE_MS = 600_000;

export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const end = Date.now() + patienceMs;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`Waited ${patienceMs} ms in vain for ${what}.`);
    await sleep(25);
  }
}
