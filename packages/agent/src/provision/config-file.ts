import type { NodeSpec } from "@moorage/contract/agent";
import { encryptionSettings } from "../encryption/keyring.ts";
import { temporarySettings } from "../encryption/temporary.ts";
import { isAsynchronous, type OwnMember, ownMember } from "../specs/member.ts";
import { reservedConnections, tlsFile } from "../mysql/settings.ts";

const clamp = (low: number, value: number, high: number): number => Math.min(Math.max(low, Math.floor(value)), high);
const poolChunkMb = 32;

/** Derives mysqld's sizes from a plan's memory and disk. The remaining memory is for connections and sorts. */
export function sizesOf({ memory_mb, disk_mb }: NodeSpec["resources"]) {
  const share = memory_mb < 1024 ? 0.125 : memory_mb < 4096 ? 0.45 : 0.65;
  const bufferPoolMb = Math.max(2 * poolChunkMb, Math.floor((memory_mb * share) / poolChunkMb) * poolChunkMb);
  return {
    bufferPoolMb,
    redoLogMb: clamp(32, Math.min(bufferPoolMb / 2, disk_mb / 16), 8192),
    maxConnections: clamp(60, memory_mb / 10, 4000),
  };
}

const tlsFiles = `ssl_ca = ${tlsFile.authorities}
ssl_cert = ${tlsFile.certificate}
ssl_key = ${tlsFile.certificate}
`;

/** With an archive, a binary log is purged only once it is archived. */
const logSettings = ({ archive }: NodeSpec): string =>
  archive === undefined ? "binlog_expire_logs_seconds = 259200\n" : "binlog_expire_logs_auto_purge = OFF\n";

/** The server itself makes copies for the archive, and copies of one member's data for another. */
const cloneSettings = ({ archive, cluster }: NodeSpec): string =>
  archive === undefined && cluster === undefined ? "" : "plugin_load_add = mysql_clone.so\n";

const memberSettings = (member: OwnMember): string =>
  isAsynchronous(member.cluster) ? followingSettings : groupSettings(member);

/** The temporary tablespace shrinks only at a restart, so its size is limited. */
const temporaryOnVolume = ({ disk_mb }: NodeSpec["resources"]): string => `tmpdir = /volume/tmp
innodb_temp_data_file_path = ibtmp1:12M:autoextend:max:${Math.max(64, Math.floor(disk_mb / 10))}M
`;

/**
 * The node's my.cnf: the settings its data directory was created with (`fixed`), and those of its plan and its cluster.
 * Paths are those inside the container.
 */
export function configFile(fixed: string, spec: NodeSpec): string {
  const { bufferPoolMb, redoLogMb, maxConnections } = sizesOf(spec.resources);
  const member = ownMember(spec);
  return `${fixed.trimEnd()}

# From the plan and the place of this node.
[mysqld]
datadir = /volume/data
${spec.database.encrypted ? temporarySettings : temporaryOnVolume(spec.resources)}socket = /run/mysqld/mysqld.sock
pid_file = /run/mysqld/mysqld.pid
# Both families; the namespace has the node's own addresses and no others.
bind_address = *
port = ${member?.peerPort ?? 3306}
report_host = ${member?.own.address ?? spec.network.address}
server_id = ${spec.server_id}
mysqlx = OFF
require_secure_transport = ${spec.database.ssl_connection ? "ON" : "OFF"}
${spec.tls === undefined ? "" : tlsFiles}secure_file_priv = NULL
local_infile = OFF
container_aware = ON

innodb_buffer_pool_chunk_size = ${poolChunkMb}M
innodb_buffer_pool_size = ${bufferPoolMb}M
innodb_redo_log_capacity = ${redoLogMb}M
innodb_log_buffer_size = ${bufferPoolMb < 1024 ? 1 : 16}M
max_connections = ${maxConnections + reservedConnections.all}

# An acknowledged commit is on the disk.
sync_binlog = 1
innodb_flush_log_at_trx_commit = 1
log_bin = binlog
${logSettings(spec)}${cloneSettings(spec)}max_binlog_size = ${spec.resources.disk_mb < 20_480 ? 64 : 256}M

# A small footprint while nobody watches.
performance_schema_digests_size = 1000
performance_schema_max_digest_length = 512
performance_schema_events_stages_history_long_size = 0
performance_schema_events_statements_history_long_size = 0
performance_schema_events_transactions_history_long_size = 0
performance_schema_events_waits_history_long_size = 0
${spec.database.encrypted ? `\n${encryptionSettings}` : ""}${member === undefined ? "" : memberSettings(member)}`;
}

/**
 * What makes a server a group member. `group_replication_group_seeds` is set when it joins: a replaced member must not
 * restart the others. A server never joins by itself, not even after an expulsion: the agent knows which hosts are
 * reachable, and an attempt by the engine delays `STOP GROUP_REPLICATION` by up to 17 s.
 */
const groupSettings = ({ cluster, own, peerPort }: OwnMember): string => `
# A member of a group of three (ADR 0017). It is closed to writes when it starts (start-up.sql); the group alone opens it.
plugin_load_add = group_replication.so
# Not after the container, which is another one with every new image.
relay_log = relay
skip_replica_start = ON
group_replication_group_name = ${cluster.group}
group_replication_local_address = ${own.address}:${peerPort}
group_replication_start_on_boot = OFF
group_replication_communication_stack = MYSQL
# A connection between members, whichever of them opens it: each shows a certificate for its address, signed by the
# authority of this cluster. These settings are for the traffic of the group and for recovery (ADR 38).
group_replication_ssl_mode = VERIFY_IDENTITY
group_replication_recovery_use_ssl = ON
group_replication_recovery_ssl_ca = ${tlsFile.authorities}
group_replication_recovery_ssl_cert = ${tlsFile.certificate}
group_replication_recovery_ssl_key = ${tlsFile.certificate}
group_replication_recovery_ssl_verify_server_cert = ON
group_replication_member_expel_timeout = 0
group_replication_unreachable_majority_timeout = 10
group_replication_autorejoin_tries = 0
group_replication_exit_state_action = READ_ONLY
group_replication_consistency = BEFORE_ON_PRIMARY_FAILOVER
group_replication_message_cache_size = 128M
`;

/**
 * What makes a server a member of an asynchronous cluster. The source is set at run time: neither a new primary nor a
 * replaced member restarts the others. A server never starts replication by itself.
 */
const followingSettings = `
# A member of an asynchronous cluster of three (ADR 0018). It is closed to writes when it starts (start-up.sql); its host
# alone opens it.
# Not after the container, which is another one with every new image.
relay_log = relay
skip_replica_start = ON
# A source that is cut off sends no heartbeat, of which there is one each second.
replica_net_timeout = 4
`;
