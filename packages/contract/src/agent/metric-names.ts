/**
 * The metrics that a host sends for each node (`/v1/samples`): the names of a sample's values, their series and their
 * plots. Counters restart at 0 with the server; readers compute ratios from two of them.
 */
export type Metric = { name: string; kind: "gauge" | "counter"; unit: MetricUnit; help: string };
export type MetricUnit = "bytes" | "seconds" | "count";

export const metricNames = [
  { name: "connections", kind: "gauge", unit: "count", help: "Open sessions." },
  { name: "threads_running", kind: "gauge", unit: "count", help: "Sessions that are executing a statement." },
  { name: "queries_total", kind: "counter", unit: "count", help: "Statements that clients have sent." },
  {
    name: "slow_queries_total",
    kind: "counter",
    unit: "count",
    help: "Statements that took longer than long_query_time.",
  },
  {
    name: "buffer_pool_requests_total",
    kind: "counter",
    unit: "count",
    help: "Pages that were asked of the buffer pool.",
  },
  {
    name: "buffer_pool_misses_total",
    kind: "counter",
    unit: "count",
    help: "Pages that had to be read from the disk for it.",
  },
  { name: "received_bytes_total", kind: "counter", unit: "bytes", help: "Received from clients." },
  { name: "sent_bytes_total", kind: "counter", unit: "bytes", help: "Sent to clients." },
  { name: "disk_used_bytes", kind: "gauge", unit: "bytes", help: "Used on the volume." },
  { name: "disk_total_bytes", kind: "gauge", unit: "bytes", help: "The plan's disk." },
  { name: "cpu_seconds_total", kind: "counter", unit: "seconds", help: "Time on the processors." },
  {
    name: "memory_used_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Memory in use, without what the page cache can give back.",
  },
  { name: "memory_total_bytes", kind: "gauge", unit: "bytes", help: "The plan's memory." },
] as const satisfies readonly Metric[];

export type MetricName = (typeof metricNames)[number]["name"];
