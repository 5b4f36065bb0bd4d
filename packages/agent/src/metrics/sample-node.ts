import type { MetricName, NodeSpec } from "@moorage/contract/agent";
import type { NodePaths } from "../host-paths.ts";
import { usedDiskMb } from "../volume.ts";
import { usageOf } from "./cgroup.ts";
import { serverStatus } from "./server-status.ts";

const mb = 1024 * 1024;

export type Sampled = { spec: NodeSpec; paths: NodePaths; pid: number };

/** The current metrics of a node. A source that does not answer is left out; the others are still valid. */
export async function sampleNode({ spec, paths, pid }: Sampled): Promise<Partial<Record<MetricName, number>>> {
  const [status, usage, diskMb] = await Promise.all([
    serverStatus(paths.socket).catch(() => undefined),
    usageOf(pid).catch(() => undefined),
    usedDiskMb(paths).catch(() => undefined),
  ]);
  return {
    ...status,
    ...(usage && { cpu_seconds_total: usage.cpuSeconds, memory_used_bytes: usage.memoryBytes }),
    memory_total_bytes: spec.resources.memory_mb * mb,
    ...(diskMb !== undefined && { disk_used_bytes: diskMb * mb }),
    disk_total_bytes: spec.resources.disk_mb * mb,
  };
}
