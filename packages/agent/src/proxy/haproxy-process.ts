import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import type { HostPaths } from "../base/host-paths.ts";
import { runCommand } from "../base/run-command.ts";

const endsWithinMs = 5000;

export const proxyPaths = (host: HostPaths, node: string) => {
  const folder = join(host.proxies, node.slice(0, 8));
  return {
    folder,
    config: join(folder, "haproxy.cfg"),
    pid: join(folder, "haproxy.pid"),
    socket: join(folder, "haproxy.sock"),
  };
};
export type ProxyPaths = ReturnType<typeof proxyPaths>;

/** Checked with the kernel: the pid in the file may belong to another process by now. */
export async function proxyPid(paths: ProxyPaths): Promise<number | undefined> {
  const pid = Number((await readIfThere(paths.pid))?.trim());
  if (!Number.isInteger(pid) || pid < 2) return undefined;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.split("\0").includes(paths.config) ? pid : undefined;
}

/** HAProxy daemonizes at once and outlives the agent. */
export async function startProxy(paths: ProxyPaths, config: string): Promise<void> {
  await mkdir(paths.folder, { recursive: true, mode: 0o700 });
  await writeDurably(paths.config, config);
  await runCommand("haproxy", ["-D", "-f", paths.config, "-p", paths.pid]);
}

export async function stopProxy(paths: ProxyPaths): Promise<void> {
  const started = performance.now();
  for (let pid = await proxyPid(paths); pid !== undefined; pid = await proxyPid(paths)) {
    process.kill(pid, performance.now() - started < endsWithinMs ? "SIGTERM" : "SIGKILL");
    await sleep(20);
  }
  await rm(paths.folder, { recursive: true, force: true });
}
