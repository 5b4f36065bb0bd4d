import { setInterval as every } from "node:timers/promises";
import { type MetricName, type NodeSpec, PROTOCOL, type SamplesRequest } from "@moorage/contract/agent";
import type { Logger } from "pino";
import type { RowDataPacket } from "mysql2/promise";
import { type HostPaths, nodePaths, type NodePaths } from "../base/host-paths.ts";
import { inhabitants, nodeNetwork } from "../node/network.ts";
import { usedDiskMb } from "../node/volume.ts";
import { usageOf } from "./cgroup.ts";
import { withRoot } from "../mysql/node-sql.ts";

const sampleEveryMs = 15_000;
const sendWithinMs = 5000;

export type SamplingDeps = {
  host: HostPaths;
  specs: () => NodeSpec[];
  send: (message: SamplesRequest, signal: AbortSignal) => Promise<unknown>;
  log: Logger;
};

/**
 * Sends the metrics of all running nodes in one message. Old samples are worthless: what cannot be sent is dropped, and
 * nothing waits for this.
 */
export async function keepSampling(deps: SamplingDeps, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of every(sampleEveryMs, undefined, { signal }))
      await sampleAll(deps, signal).catch((error: unknown) =>
        deps.log.debug({ error: String(error) }, "metrics could not be sampled"),
      );
  } catch {
    // closed
  }
}

async function sampleAll({ host, specs, send }: SamplingDeps, signal: AbortSignal): Promise<void> {
  const known = specs();
  const pids = await inhabitants(known.map(({ node, network }) => nodeNetwork(node, network.address)));
  const nodes = await Promise.all(
    known.flatMap((spec, index) => {
      const pid = pids[index];
      if (pid === undefined) return [];
      const sampled = sampleNode({ spec, paths: nodePaths(host, spec.node), pid });
      return sampled.then((values) => ({ node: spec.node, values }));
    }),
  );
  if (nodes.length === 0) return;
  await send({ protocol: PROTOCOL, nodes }, AbortSignal.any([signal, AbortSignal.timeout(sendWithinMs)]));
}

const mb = 1024 * 1024;

export type Sampled = { spec: NodeSpec; paths: NodePaths; pid: number };

/** The current metrics of a node. A source that does not answer is left out; the others are still valid. */
async function sampleNode({ spec, paths, pid }: Sampled): Promise<Partial<Record<MetricName, number>>> {
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

const variables = {
  Threads_connected: "connections",
  Threads_running: "threads_running",
  Questions: "queries_total",
  Slow_queries: "slow_queries_total",
  Innodb_buffer_pool_read_requests: "buffer_pool_requests_total",
  Innodb_buffer_pool_reads: "buffer_pool_misses_total",
  Bytes_received: "received_bytes_total",
  Bytes_sent: "sent_bytes_total",
} as const satisfies Record<string, MetricName>;

/** These count the agent's own session, which is subtracted. */
const ownSession: ReadonlySet<MetricName> = new Set(["connections", "threads_running"]);

const statement = `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.global_status
  WHERE VARIABLE_NAME IN (${Object.keys(variables)
    .map((name) => `'${name}'`)
    .join(", ")})`;

const patienceMs = 2000;

const serverStatus = (socket: string): Promise<Partial<Record<MetricName, number>>> =>
  withRoot(socket, async (connection) => {
    const [rows] = await connection.query<(RowDataPacket & { name: keyof typeof variables; value: string })[]>({
      sql: statement,
      timeout: patienceMs,
    });
    const values = rows.map(({ name, value }): [MetricName, number] => {
      const metric = variables[name];
      return [metric, ownSession.has(metric) ? Math.max(0, Number(value) - 1) : Number(value)];
    });
    return Object.fromEntries(values);
  });
