/**
 * What makes a server a member of an asynchronous cluster. The source is set at run time: neither a new primary nor a
 * replaced member restarts the others. A server never starts replication by itself.
 */
export const followingSettings = `
# A member of an asynchronous cluster of three (ADR 0018). It is closed to writes when it starts (start-up.sql); its host
# alone opens it.
# Not after the container, which is another one with every new image.
relay_log = relay
skip_replica_start = ON
# A source that is cut off sends no heartbeat, of which there is one each second.
replica_net_timeout = 4
`;
