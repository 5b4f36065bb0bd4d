import type { Db } from "#platform/db/database.ts";

/** A larger clock offset is shown as wrong: time decides tokens, windows and restore points. */
const CLOCK_LIMIT_MS = 2_000;

/** The operator's overview: reachable hosts, their load, and warnings. */
export async function listHosts(db: Db, now: Date) {
  const rows = await db
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .selectAll("hosts")
    .select(["seen_at", "agent", "clock_offset_ms", "trash_mb", "unknown"])
    .orderBy("hosts.id")
    .execute();
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    region: row.region,
    failure_domain: row.failure_domain,
    address: row.address,
    address6: row.address6,
    private_address: row.private_address,
    state: row.state,
    memory_mb: { total: row.memory_mb, reserved: row.reserved_memory_mb },
    disk_mb: { total: row.disk_mb, reserved: row.reserved_disk_mb, trash: row.trash_mb ?? 0 },
    agent: row.agent,
    silent_seconds:
      row.seen_at === null ? null : Math.max(0, Math.round((now.getTime() - row.seen_at.getTime()) / 1000)),
    clock_wrong: Math.abs(row.clock_offset_ms ?? 0) > CLOCK_LIMIT_MS,
    unknown: row.unknown ?? [],
  }));
}
