import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import type { RowDataPacket } from "mysql2/promise";
import { NotYet } from "../../base/try-again.ts";
import { despiteLocks } from "../../mysql/despite-locks.ts";
import { copyUnderWay, runAbortable, withRoot } from "../../mysql/node-sql.ts";
import { claimAccount } from "../../mysql/baseline.ts";
import { tlsFile } from "../../mysql/settings.ts";

export const groupAccount = "moorage_group";

/** A server breaks long sets into lines. */
export const withoutSpace = (gtids: string): string => gtids.replaceAll(/\s/g, "");

/** Transactions in the first set and in none of the others. */
export const gtidSubtract = (socket: string, gtids: string, others: readonly string[]): Promise<string> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>("SELECT GTID_SUBTRACT(?, ?) AS rest", [
      gtids,
      others.filter((each) => each !== "").join(),
    ]);
    return withoutSpace(String(row?.["rest"]));
  });

/** The server cannot restart itself: this error after CLONE shows that the data are complete. */
const restartFailed = 3707;
const donorError = 3862;

/** How long a server may take to end a killed clone. Its data are unusable from then on, whether it has or not. */
const endsWithinMs = 10_000;

/**
 * Replaces all data of this server, which then ends. An abort kills the statement. The engine verifies only who signed
 * the donor's certificate, and not its address: the authority signs for members of this cluster alone.
 */
export const takeDataOf = (
  socket: string,
  donor: { address: string; port: number },
  password: string,
  signal: AbortSignal,
): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET GLOBAL clone_valid_donor_list = ?", [`${donor.address}:${donor.port}`]);
    await connection.query("SET GLOBAL clone_ssl_ca = ?, GLOBAL clone_ssl_cert = ?, GLOBAL clone_ssl_key = ?", [
      tlsFile.authorities,
      tlsFile.certificate,
      tlsFile.certificate,
    ]);
    const clone = () =>
      connection.query(`CLONE INSTANCE FROM ?@?:${donor.port} IDENTIFIED BY ? REQUIRE SSL`, [
        groupAccount,
        donor.address,
        password,
      ]);
    try {
      await Promise.race([runAbortable(socket, connection, signal, clone), rejectAfterAbort(signal, endsWithinMs)]);
    } catch (error) {
      const { errno, message } = error as { errno?: number; message: string };
      if (errno === donorError && message.includes(` ${copyUnderWay} `))
        throw new NotYet(`${donor.address} to end another copy of its data`);
      if (errno !== restartFailed) throw error;
    }
  });

async function rejectAfterAbort(signal: AbortSignal, ms: number): Promise<never> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await sleep(ms, undefined, { ref: false });
  throw new Error(`The server did not end a killed clone within ${ms / 1000} s.`);
}

/**
 * The account with which members reach each other. Not in the binary log: it must exist before the group does.
 * SYSTEM_USER keeps tenants who may alter users from changing it, and REQUIRE CURRENT code that runs as the account. The
 * password is useless without the key of a certificate that the cluster's authority (`issuer`) signed.
 */
export const makeGroupAccount = (
  socket: string,
  password: string,
  { isGroup, issuer }: { isGroup: boolean; issuer: string },
): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET SESSION sql_log_bin = 0");
    await claimAccount(connection, groupAccount, "%");
    await connection.query(
      `ALTER USER ?@'%' IDENTIFIED WITH caching_sha2_password BY ? REQUIRE ISSUER ?
       PASSWORD EXPIRE NEVER PASSWORD REQUIRE CURRENT ACCOUNT UNLOCK`,
      [groupAccount, password, issuer],
    );
    await connection.query(
      `GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN${isGroup ? ", GROUP_REPLICATION_STREAM" : ""}
       ON *.* TO ?@'%'`,
      [groupAccount],
    );
  });

/** Members that start from the same prepared data must have the same history: none. Only for a server without data. */
export const forgetHistory = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [others] = await connection.query<RowDataPacket[]>(
      `SELECT schema_name FROM information_schema.schemata
       WHERE schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')`,
    );
    if (others.length > 0) throw new Error("The server has data: its GTID history cannot be reset.");
    await connection.query("RESET BINARY LOGS AND GTIDS");
  });

/** From then on only the group opens it. */
export const closeForTheGroup = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET GLOBAL super_read_only = ON");
  });

/** The password version that the data carry; 0 if it is that of another group. */
export const credentialsOf = (socket: string, { credentials, cluster }: NodeSpec): Promise<number> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>({
      sql: `SELECT CAST(attribute->>'$.moorage.version' AS UNSIGNED) AS version FROM information_schema.user_attributes
        WHERE user = ? AND host = '%' AND attribute->>'$.moorage.group' = ?`,
      values: [credentials.username, cluster?.group],
      timeout: 5000,
    });
    return Number(row?.["version"] ?? 0);
  });

/** In the binary log, and in one statement with its version: a member has either both or neither. */
export const writeCredentials = (socket: string, { credentials, cluster }: NodeSpec, password: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const attribute = JSON.stringify({ moorage: { group: cluster?.group, version: credentials.version } });
    const change = "ALTER USER ?@'%' IDENTIFIED WITH caching_sha2_password BY ? ACCOUNT UNLOCK ATTRIBUTE ?";
    await despiteLocks(connection, () => connection.query(change, [credentials.username, password, attribute]));
  });

/** Sessions that were opened with the password of an earlier timeline stay open until they are killed. */
export const endGroupSessions = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [sessions] = await connection.query<RowDataPacket[]>(
      "SELECT processlist_id AS id FROM performance_schema.threads WHERE processlist_user = ?",
      [groupAccount],
    );
    for (const { id } of sessions) await connection.query("KILL ?", [id]).catch(() => {}); // it ended by itself
  });
