import { readFile } from "node:fs/promises";
import { join } from "node:path";

const mounted = "/sys/fs/cgroup";

/** A process's cgroup: one folder in version 2, one folder for each controller in version 1. */
type Group = { version: 1; cpu: string; memory: string } | { version: 2; folder: string };

/** CPU and memory use of a container, read from cgroup files without starting a process. */
export async function usageOf(pid: number): Promise<{ cpuSeconds: number; memoryBytes: number }> {
  const group = groupOf(await readFile(`/proc/${pid}/cgroup`, "utf8"));
  if (group.version === 2) {
    const [cpu, used, memory] = await readAll(
      ...["cpu.stat", "memory.current", "memory.stat"].map((name) => join(group.folder, name)),
    );
    return { cpuSeconds: field(cpu, "usage_usec") / 1e6, memoryBytes: Number(used) - field(memory, "inactive_file") };
  }
  const [cpu, used, memory] = await readAll(
    join(group.cpu, "cpuacct.usage"),
    join(group.memory, "memory.usage_in_bytes"),
    join(group.memory, "memory.stat"),
  );
  return { cpuSeconds: Number(cpu) / 1e9, memoryBytes: Number(used) - field(memory, "total_inactive_file") };
}

/** Parses /proc/<pid>/cgroup: a line `number:controllers:path` for each hierarchy, `0::path` for version 2. */
export function groupOf(text: string): Group {
  const paths = new Map<string, string>();
  for (const line of text.trim().split("\n")) {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers.split(",")) paths.set(controller, join(mounted, controllers, path));
  }
  const [cpu, memory] = [paths.get("cpuacct"), paths.get("memory")];
  if (cpu !== undefined && memory !== undefined) return { version: 1, cpu, memory };
  return { version: 2, folder: paths.get("") ?? mounted };
}

const readAll = (...files: string[]): Promise<string[]> => Promise.all(files.map((file) => readFile(file, "utf8")));

const field = (text: string | undefined, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text ?? "")?.[1] ?? 0);
