import { type Database, type MysqlDatabase, type PendingUpdate, toTimestamp } from "@moorage/contract";
import { readOnlyPortOf } from "@moorage/contract/agent";
import type { DatabaseToView } from "./database-store.ts";
import { isCluster } from "./database.ts";
import { entityOf, primaryHostname, privateHostname } from "./entity.ts";
import { oldestRestoreTime } from "./restore-window.ts";

export const viewOfDatabase = (row: DatabaseToView, zone: string, now: Date): MysqlDatabase => ({
  id: row.id,
  label: row.label,
  engine: row.engine,
  version: row.version,
  region: row.region,
  type: row.plan,
  cluster_size: isCluster(row) ? 3 : 1,
  encrypted: row.encrypted,
  allow_list: row.allow_list,
  hosts: hostsOf(row, zone),
  port: row.port,
  read_only_port: row.port === null || !isCluster(row) ? null : readOnlyPortOf(row.port),
  replication_type: row.replication_type,
  ssl_connection: row.ssl_connection,
  status: row.status,
  ...diskOf(row),
  updates: { ...row.updates, pending: pendingOf(row) },
  created: toTimestamp(row.created_at),
  updated: toTimestamp(row.updated_at),
  oldest_restore_time: shown(oldestRestoreTime(row, now)),
  fork: forkOf(row),
  engine_config: { mysql: {} },
});

/** As requested: a client that compares strings finds what it sent. */
const forkOf = ({ fork_source, fork_restore_time }: DatabaseToView): MysqlDatabase["fork"] =>
  fork_source === null ? null : { source: fork_source, restore_time: shown(fork_restore_time) };

/**
 * A server that is being stopped writes into the volume's reserve for a moment: the plan's disk counts as full, no
 * more.
 */
function diskOf(row: Pick<DatabaseToView, "disk_mb" | "used_disk_mb">) {
  const total = Math.floor(row.disk_mb / 1024);
  return { total_disk_size_gb: total, used_disk_size_gb: Math.min(Math.ceil((row.used_disk_mb ?? 0) / 1024), total) };
}

const shown = (at: Date | null): string | null => (at === null ? null : toTimestamp(at));

/** The tenant chooses the engine's version; a patch only changes the image that it runs in. */
const pendingOf = ({ image, newest_image, patch_due_at }: DatabaseToView): PendingUpdate[] =>
  image === null || (image === newest_image && patch_due_at === null)
    ? []
    : [
        {
          description:
            image === newest_image
              ? "The nodes that a change did not reach"
              : "A newer image of the same engine version",
          deadline: null,
          planned_for: patch_due_at === null ? null : toTimestamp(patch_due_at),
        },
      ];

/** A hostname is shown once it has DNS records. */
const hostsOf = ({ id, dns_published_at }: DatabaseToView, zone: string): MysqlDatabase["hosts"] =>
  dns_published_at === null
    ? { primary: null, secondary: null }
    : { primary: primaryHostname(id, zone), secondary: privateHostname(id, zone) };

/** The entry in the list over all engines. */
export function viewInAllEngines(row: DatabaseToView, zone: string, now: Date): Database {
  const { port: _port, read_only_port: _readers, ...whole } = viewOfDatabase(row, zone, now);
  const { replication_type: _replication, ssl_connection: _ssl, ...view } = whole;
  const { total_disk_size_gb: _total, used_disk_size_gb: _used, oldest_restore_time: _oldest, ...rest } = view;
  const { engine_config: _settings, ...common } = rest;
  return { ...common, instance_uri: entityOf(row).url };
}
