import { sql } from "kysely";
import { Gauge, type Registry } from "prom-client";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";

type Deps = { db: Db; clock: Clock; log: Log };

const KEPT_MS = 10_000;

/**
 * The state of the cell, read from its tables. Every statement reads open rows or hosts by index, never all databases,
 * and runs at most every ten seconds, however often it is scraped.
 */
export function addCellGauges(registry: Registry, deps: Deps): void {
  const read = keep(deps, () => readCell(deps.db));
  const gauge = (name: string, help: string, label: "kind" | "state", fill: Fill) =>
    new Gauge<"kind" | "state">({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        const cell = await read();
        this.reset();
        if (cell !== undefined)
          for (const [key, value] of fill(cell, deps.clock().getTime())) this.set({ [label]: key }, value);
      },
    });

  gauge("moorage_operations_open", "Operations that are not settled.", "kind", ({ operations }) =>
    operations.map(({ kind, open }) => [kind, open]),
  );
  gauge("moorage_operations_waiting", "Open operations that the relay has not started.", "kind", ({ operations }) =>
    operations.map(({ kind, waiting }) => [kind, waiting]),
  );
  gauge("moorage_operation_oldest_seconds", "Age of the oldest open operation.", "kind", ({ operations }, now) =>
    operations.map(({ kind, oldest }) => [kind, secondsSince(oldest, now)]),
  );
  gauge(
    "moorage_operation_start_lag_seconds",
    "The longest that an open operation waited, or waits, from its row to its workflow.",
    "kind",
    ({ operations }, now) =>
      operations.map(({ kind, lag, longest_wait }) => [
        kind,
        Math.max(lag ?? 0, longest_wait === null ? 0 : secondsSince(longest_wait, now)),
      ]),
  );
  gauge("moorage_nodes_awaited", "Nodes that an open operation waits for, by what they are.", "state", ({ nodes }) =>
    nodes.map(({ state, count }) => [state ?? "unobserved", count]),
  );
  gauge("moorage_hosts", "Hosts by state.", "state", ({ hosts }) => hosts.map(({ state, count }) => [state, count]));
  gauge("moorage_hosts_quarantined", "Hosts that claimed a state that they were not sent.", "state", ({ hosts }) =>
    hosts.flatMap(({ state, quarantined }) => (quarantined === 0 ? [] : [[state, quarantined] as const])),
  );
  gauge(
    "moorage_host_silent_seconds",
    "Longest time since a host was last seen, by the state of the host.",
    "state",
    ({ hosts }, now) =>
      hosts.flatMap(({ state, seen }) => (seen === null ? [] : [[state, secondsSince(seen, now)] as const])),
  );
}

type Cell = Awaited<ReturnType<typeof readCell>>;
type Fill = (cell: Cell, now: number) => readonly (readonly [string, number])[];

const secondsSince = (at: Date, now: number): number => Math.max(0, (now - at.getTime()) / 1000);

async function readCell(db: Db) {
  const [operations, nodes, hosts] = await Promise.all([
    db
      .selectFrom("operations")
      .select(({ fn }) => [
        "kind",
        fn.countAll<number>().as("open"),
        fn.countAll<number>().filterWhere("started_at", "is", null).as("waiting"),
        fn.min<Date>("created_at").as("oldest"),
        // A run after the first was waiting for the sweeper, not for the relay.
        fn
          .min<Date | null>("created_at")
          .filterWhere("started_at", "is", null)
          .filterWhere("run", "=", 0)
          .as("longest_wait"),
        sql<number | null>`max(extract(epoch from started_at - created_at)) filter (where run = 0)`.as("lag"),
      ])
      .where("settled_at", "is", null)
      .groupBy("kind")
      .execute(),
    db
      .selectFrom("operations")
      .innerJoin("nodes", "nodes.waiting_operation_id", "operations.id")
      .select(({ fn }) => ["observed_state as state", fn.countAll<number>().as("count")])
      .where("settled_at", "is", null)
      .groupBy("observed_state")
      .execute(),
    db
      .selectFrom("hosts")
      .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
      .select(({ fn }) => [
        "state",
        fn.countAll<number>().as("count"),
        fn.count<number>("quarantined_at").as("quarantined"),
        fn.min<Date | null>("seen_at").as("seen"),
      ])
      .groupBy("state")
      .execute(),
  ]);
  return { operations, nodes, hosts };
}

/** A scrape must not fail because Postgres does: then these gauges are missing, and others show why. */
function keep<T>({ clock, log }: Deps, read: () => Promise<T>): () => Promise<T | undefined> {
  let readAt = Number.NEGATIVE_INFINITY;
  let last: Promise<T | undefined> = Promise.resolve(undefined);
  return () => {
    const now = clock().getTime();
    if (now - readAt >= KEPT_MS) {
      readAt = now;
      last = read().catch((error: unknown) => {
        log.warn({ err: error }, "the gauges of the cell could not be read");
        return undefined;
      });
    }
    return last;
  };
}
