import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "./hosts.ts";
import { isOurs } from "./supervisor.ts";
import { waitUntil } from "./wait-until.ts";

/** The proxies of three-node databases: processes that outlive the agent that started them. */
export function proxyPids({ dir }: Host): number[] {
  try {
    return readdirSync(join(dir, "proxies")).flatMap((name) => {
      const pid = pidIn(join(dir, "proxies", name, "haproxy.pid"));
      return pid !== undefined && isOurs(pid) ? [pid] : [];
    });
  } catch {
    return []; // it never had one
  }
}

/** Only while the host's agent is down: the agent would restart the proxies. */
export async function endProxies(hosts: readonly Host[]): Promise<void> {
  const running = (): number[] => hosts.flatMap(proxyPids);
  for (const pid of running()) process.kill(pid, "SIGKILL");
  await waitUntil(60, async () => running().length === 0);
}

function pidIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
