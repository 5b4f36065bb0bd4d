import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../../mysql/node-sql.ts";
import { groupAccount, withoutSpace } from "../member/member-sql.ts";

/** What a server reports of itself and its group. Members are identified by their hosts' addresses. */
export type OwnGroup = {
  state: "online" | "recovering" | "offline" | "error";
  role: "primary" | "secondary" | undefined;
  view: string | undefined;
  primary: string | undefined;
  online: string[];
  readOnly: boolean;
  /** It waits longer before it expels another member: see `joinGroup`. */
  isPatient: boolean;
  /** A member of its group, reachable or not, has what it lacks. */
  hasDonor: boolean;
  /** Everything that was executed or received. */
  gtid: string;
  /** Age of the oldest transaction that is being applied. */
  backlogSeconds: number;
};

const groupStateQuery = `SELECT
  LOWER(COALESCE(own.member_state, 'OFFLINE')) AS state, LOWER(own.member_role) AS role,
  (SELECT view_id FROM performance_schema.replication_group_member_stats WHERE member_id = @@server_uuid) AS view,
  (SELECT MAX(member_host) FROM performance_schema.replication_group_members WHERE member_role = 'PRIMARY') AS primary_host,
  (SELECT JSON_ARRAYAGG(member_host) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE')
    AS online,
  EXISTS (SELECT 1 FROM performance_schema.replication_group_members WHERE member_state IN ('ONLINE', 'UNREACHABLE'))
    AS has_donor,
  @@GLOBAL.super_read_only AS read_only, @@GLOBAL.group_replication_member_expel_timeout AS patience,
  GTID_SUBTRACT(CONCAT(@@GLOBAL.gtid_executed, ',', COALESCE((SELECT received_transaction_set
    FROM performance_schema.replication_connection_status WHERE channel_name = 'group_replication_applier'), '')), '')
    AS gtid,
  (SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, applying_transaction_original_commit_timestamp, NOW(6))), 0)
    FROM performance_schema.replication_applier_status_by_worker
    WHERE channel_name = 'group_replication_applier' AND applying_transaction <> '') AS backlog
FROM (SELECT 1) AS one
LEFT JOIN performance_schema.replication_group_members AS own ON own.member_id = @@server_uuid`;

export const readGroupState = (socket: string): Promise<OwnGroup> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>({ sql: groupStateQuery, timeout: 5000 });
    if (row === undefined) throw new Error("The server returned no row about its group.");
    return {
      state: row["state"],
      role: row["role"] || undefined,
      view: row["view"] || undefined,
      primary: row["primary_host"] ?? undefined,
      online: row["online"] ?? [],
      readOnly: row["read_only"] === 1,
      isPatient: row["patience"] > 0,
      hasDonor: row["has_donor"] === 1,
      gtid: withoutSpace(row["gtid"]),
      backlogSeconds: Math.max(0, Number(row["backlog"])),
    };
  });

/** Since this server was started. */
export const wasGroupStarted = (socket: string): Promise<boolean> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>({
      sql: "SHOW GLOBAL STATUS LIKE 'Com_group_replication_start'",
      timeout: 5000,
    });
    return Number(row?.["Value"] ?? 1) > 0;
  });

/**
 * Starts the group with this server as its first member. All in one message: the setting is off again whatever happens
 * to the agent, and a member that rejoins must never find it on.
 */
export const bootstrapGroup = (socket: string, password: string): Promise<void> =>
  withRoot(
    socket,
    async (connection) => {
      try {
        await connection.query(
          `SET GLOBAL group_replication_bootstrap_group = ON;
           START GROUP_REPLICATION USER = ?, PASSWORD = ?;
           SET GLOBAL group_replication_bootstrap_group = OFF`,
          [groupAccount, password],
        );
      } finally {
        await connection.query("SET GLOBAL group_replication_bootstrap_group = OFF");
      }
    },
    { multipleStatements: true },
  );

const patienceSeconds = 5;

/**
 * Joins through members that are online: a seed that is itself joining delays whoever uses it. Until it is online, it
 * waits longer before it expels others: two joining members had not reached the only member with data yet, and expelled
 * it within half a second.
 */
export const joinGroup = (socket: string, seeds: string, password: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET GLOBAL group_replication_bootstrap_group = OFF");
    await connection.query("SET GLOBAL group_replication_group_seeds = ?", [seeds]);
    await connection.query("SET GLOBAL group_replication_member_expel_timeout = ?", [patienceSeconds]);
    await connection.query("START GROUP_REPLICATION USER = ?, PASSWORD = ?", [groupAccount, password]);
  });

export const endPatience = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET GLOBAL group_replication_member_expel_timeout = 0");
  });

export const leaveGroup = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("STOP GROUP_REPLICATION");
  });

/** How long a tenant's running transaction may take to end before its session is disconnected. */
const lastTransactionsSeconds = 2;

export const becomePrimary = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SELECT group_replication_set_as_primary(@@server_uuid, ?)", [lastTransactionsSeconds]);
  });
