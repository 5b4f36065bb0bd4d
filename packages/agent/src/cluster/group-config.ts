import type { OwnMember } from "../member.ts";

/**
 * What makes a server a group member. `group_replication_group_seeds` is set when it joins: a replaced member must not
 * restart the others. A server never joins by itself, not even after an expulsion: the agent knows which hosts are
 * reachable, and an attempt by the engine delays `STOP GROUP_REPLICATION` by up to 17 s.
 */
export const groupSettings = ({ cluster, own, peerPort }: OwnMember): string => `
# A member of a group of three (ADR 0017). It is closed to writes when it starts (start-up.sql); the group alone opens it.
plugin_load_add = group_replication.so
# Not after the container, which is another one with every new image.
relay_log = relay
skip_replica_start = ON
group_replication_group_name = ${cluster.group}
group_replication_local_address = ${own.address}:${peerPort}
group_replication_start_on_boot = OFF
group_replication_communication_stack = MYSQL
group_replication_ssl_mode = REQUIRED
group_replication_recovery_use_ssl = ON
group_replication_member_expel_timeout = 0
group_replication_unreachable_majority_timeout = 10
group_replication_autorejoin_tries = 0
group_replication_exit_state_action = READ_ONLY
group_replication_consistency = BEFORE_ON_PRIMARY_FAILOVER
group_replication_message_cache_size = 128M
`;
