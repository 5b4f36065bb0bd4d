import type { MetricName } from "@moorage/contract/agent";
import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";

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

export const serverStatus = (socket: string): Promise<Partial<Record<MetricName, number>>> =>
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
