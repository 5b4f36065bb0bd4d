import type { Connection, RowDataPacket } from "mysql2/promise";
import { withRoot } from "../../mysql/node-sql.ts";
import { tlsFile } from "../../mysql/settings.ts";
import { withoutSpace, groupAccount } from "../member/member-sql.ts";

/** Replication state that a server of an asynchronous cluster reports. */
export type OwnFollowing = {
  /** `super_read_only` is off. */
  open: boolean;
  /** Closed at least to tenants. */
  readOnly: boolean;
  /** The host address of the member that is its source. */
  source: string | undefined;
  receiving: "on" | "connecting" | "off";
  applying: boolean;
  executed: string;
  received: string;
  /** Executed and received. */
  gtid: string;
  isApplied: boolean;
  isPurged: boolean;
  /** The server's error, if it stopped applying. */
  failure: string | undefined;
  /** Age of the oldest transaction that is being applied. */
  backlogSeconds: number;
};

const followingStateQuery = `SELECT @@GLOBAL.super_read_only AS closed, @@GLOBAL.read_only AS read_only,
  s.host AS source, LOWER(COALESCE(c.service_state, 'OFF')) AS receiving, COALESCE(a.service_state = 'ON', 0) AS applying,
  @@GLOBAL.gtid_executed AS executed, COALESCE(c.received_transaction_set, '') AS received,
  GTID_SUBTRACT(CONCAT(@@GLOBAL.gtid_executed, ',', COALESCE(c.received_transaction_set, '')), '') AS gtid,
  GTID_SUBSET(COALESCE(c.received_transaction_set, ''), @@GLOBAL.gtid_executed) AS applied,
  COALESCE(c.last_error_message, '') AS receive_error,
  (SELECT MAX(last_error_message) FROM performance_schema.replication_applier_status_by_worker
    WHERE channel_name = '' AND last_error_number <> 0) AS apply_error,
  (SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, applying_transaction_original_commit_timestamp, NOW(6))), 0)
    FROM performance_schema.replication_applier_status_by_worker
    WHERE channel_name = '' AND applying_transaction <> '') AS backlog
FROM (SELECT 1) AS one
LEFT JOIN performance_schema.replication_connection_configuration AS s ON s.channel_name = ''
LEFT JOIN performance_schema.replication_connection_status AS c ON c.channel_name = ''
LEFT JOIN performance_schema.replication_applier_status AS a ON a.channel_name = ''`;

export const readFollowingState = (socket: string): Promise<OwnFollowing> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>({ sql: followingStateQuery, timeout: 5000 });
    if (row === undefined) throw new Error("The server returned no row about its replication state.");
    return {
      open: row["closed"] === 0,
      readOnly: row["read_only"] === 1,
      source: row["source"] || undefined,
      receiving: row["receiving"],
      applying: row["applying"] === 1,
      executed: withoutSpace(row["executed"]),
      received: withoutSpace(row["received"]),
      gtid: withoutSpace(row["gtid"]),
      isApplied: row["applied"] === 1,
      isPurged: row["receiving"] === "off" && /purged/i.test(row["receive_error"]),
      failure: row["apply_error"] || undefined,
      backlogSeconds: Math.max(0, Number(row["backlog"])),
    };
  });

/**
 * Transactions that were received and not applied are received again, so the source must have all of them. The password
 * is passed at the start of replication and so is never stored in the data. The source gets it only after it has shown a
 * certificate for its address, signed by the authority of this cluster.
 */
export const followSource = (
  socket: string,
  source: { address: string; port: number },
  password: string,
): Promise<void> =>
  withRoot(socket, async (connection) => {
    await forgetSource(connection);
    await connection.query(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = ?, SOURCE_PORT = ?, SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1,
       SOURCE_SSL_VERIFY_SERVER_CERT = 1, SOURCE_SSL_CA = ?, SOURCE_SSL_CERT = ?, SOURCE_SSL_KEY = ?,
       SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 100000, SOURCE_HEARTBEAT_PERIOD = 1`,
      [source.address, source.port, tlsFile.authorities, tlsFile.certificate, tlsFile.certificate],
    );
    await connection.query("START REPLICA USER = ? PASSWORD = ?", [groupAccount, password]);
  });

export const stopFollowing = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("STOP REPLICA");
  });

async function forgetSource(connection: Connection): Promise<void> {
  await connection.query("STOP REPLICA");
  await connection.query("RESET REPLICA ALL");
}

export const stopReceiving = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("STOP REPLICA IO_THREAD");
  });

export const startApplying = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("START REPLICA SQL_THREAD");
  });

/** Returns after `withinSeconds` at the latest. */
export const waitForExecuted = (socket: string, gtids: string, withinSeconds: number): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?)", [gtids, withinSeconds]);
  });

export const resetReplication = (socket: string): Promise<void> => withRoot(socket, forgetSource);

/** The only place that opens a member. */
export const openToTenants = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET GLOBAL super_read_only = OFF");
    await connection.query("SET GLOBAL read_only = OFF");
  });
