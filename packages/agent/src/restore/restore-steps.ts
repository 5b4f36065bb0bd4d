import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { renameDurably } from "../base/durable-file.ts";
import { repairAdmin } from "../mysql/baseline.ts";
import { setAdminPassword, withRoot } from "../mysql/node-sql.ts";
import { recordCredentials, updateTimeline } from "../specs/node-state.ts";
import { ensureEngine } from "../provision/provision-steps.ts";
import { runCommand } from "../base/run-command.ts";
import type { StepTable } from "../base/run-steps.ts";
import { exists, releaseVolume } from "../node/volume.ts";
import { openTables } from "./check-tables.ts";
import { beginAfresh, fetchBase, type MakeContext, replayLogs } from "./make-data.ts";
import { stopServer } from "./throw-away-server.ts";
import { clearWorkplace } from "./workplace.ts";
import { BrokenArchive } from "./fetch-object.ts";
import { groupAccount } from "../replication/member/member-sql.ts";

/**
 * Makes the volume of a timeline while the node runs on another. The last step gives the volume its final name;
 * provisioning's `switch` step then moves the node to it.
 */
export const restoreSteps: StepTable<MakeContext> = {
  name: "restore",
  steps: [
    { name: "engine", percent: 2, run: ensureEngine },
    { name: "volume", percent: 5, run: beginAfresh },
    { name: "fetch", percent: 45, run: fetchBase },
    { name: "replay", percent: 85, run: replayLogs },
    { name: "check", percent: 90, run: check },
    // Before anybody can reach the server, so that a password from the archive never works on it.
    { name: "credentials", percent: 92, run: setTodaysPassword },
    { name: "stop", percent: 95, run: stopServerCleanly },
    { name: "keep", percent: 98, run: keepVolume },
  ],
};

async function check({ work, signal, log, spec }: MakeContext): Promise<void> {
  await forgetGroup(work.socket);
  await requireTenantRights(work.socket);
  const keys = spec.cluster === undefined ? 0 : await addPrimaryKeys(work.socket);
  const { tables } = await openTables(work.socket, signal);
  log.info({ tables, keys }, "every table of the restored data was read");
}

async function setTodaysPassword(context: MakeContext): Promise<void> {
  const { work, paths, spec, adminPassword } = context;
  await repairAdmin(work.socket, context);
  await setAdminPassword(work.socket, spec.credentials, await adminPassword(spec.node));
  await mkdir(paths.folder, { recursive: true });
  await recordCredentials(paths, spec.credentials.version);
}

async function stopServerCleanly(context: MakeContext): Promise<void> {
  await stopServer(context, context.work);
}

/** The last rename gives the volume its name. A crash before it starts the restore again; after it nothing is left. */
async function keepVolume({ work, paths, spec, podman }: MakeContext): Promise<void> {
  if (await exists(paths.image)) return;
  // The server generates a new server_uuid: the timeline is not the one that the data came from.
  await rm(join(work.data, "auto.cnf"), { force: true });
  await runCommand("sync", ["--file-system", work.volume]);
  await releaseVolume(work);
  if (spec.database.encrypted) {
    await rm(paths.keyring, { recursive: true, force: true });
    await mkdir(dirname(paths.keyring), { recursive: true, mode: 0o700 });
    await renameDurably(work.keyring, paths.keyring);
  }
  if (spec.data !== undefined) await updateTimeline(paths, { id: spec.data.timeline });
  await renameDurably(work.image, paths.image);
  await clearWorkplace(podman, work);
}

const keyless = `SELECT t.TABLE_SCHEMA AS \`schema\`, t.TABLE_NAME AS name FROM information_schema.TABLES t
  LEFT JOIN (SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0
    GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME HAVING MAX(NULLABLE) = '') k USING (TABLE_SCHEMA, TABLE_NAME)
  WHERE k.TABLE_NAME IS NULL AND t.TABLE_TYPE = 'BASE TABLE'
    AND t.TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')`;

/**
 * A group member refuses writes to a table without a primary key; a single node may have such tables. Before its data
 * become a cluster's, they get the invisible key that a cluster generates for new tables.
 */
export const addPrimaryKeys = (socket: string): Promise<number> =>
  withRoot(socket, async (connection) => {
    const [tables] = await connection.query<RowDataPacket[]>(keyless);
    for (const { schema, name } of tables)
      await connection
        .query(
          "ALTER TABLE ??.?? ADD COLUMN my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY FIRST",
          [schema, name],
        )
        .catch((error: Error) => {
          throw new BrokenArchive(
            `Three nodes need a primary key in every table, and ${schema}.${name} cannot be given one: ${error.message}`,
          );
        });
    return tables.length;
  });

/** Removes the group configuration from a former member's data: the restored node joins another group, or none. */
const forgetGroup = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("RESET REPLICA ALL");
    await connection.query("DROP USER IF EXISTS ?@'%'", [groupAccount]);
  });

/** Privileges of a tenant's admin (engines/mysql/admin.sql), which it may grant to others. */
const grantable = [
  "ALLOW_NONEXISTENT_DEFINER",
  "APPLICATION_PASSWORD_ADMIN",
  "FLUSH_OPTIMIZER_COSTS",
  "FLUSH_PRIVILEGES",
  "FLUSH_STATUS",
  "FLUSH_TABLES",
  "FLUSH_USER_RESOURCES",
  "ROLE_ADMIN",
  "SET_ANY_DEFINER",
  "SHOW_ROUTINE",
  "XA_RECOVER_ADMIN",
];

const ours =
  "Host = 'localhost' AND User IN ('root', 'moorage_tools', 'mysql.infoschema', 'mysql.session', 'mysql.sys')";
const beyond = `SELECT CONCAT(User, '@', Host) AS account FROM mysql.user
  WHERE NOT (${ours}) AND 'Y' IN (Super_priv, File_priv, Shutdown_priv, Reload_priv, Create_tablespace_priv)
  UNION SELECT CONCAT(User, '@', Host) FROM mysql.global_grants WHERE NOT (${ours}) AND PRIV NOT IN (?)`;

/**
 * A replay runs as root. If a tenant's text were ever misread as a statement there, no account may end up with more
 * privileges than a tenant can have.
 */
export const requireTenantRights = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [found] = await connection.query<RowDataPacket[]>(beyond, [grantable]);
    if (found.length > 0)
      throw new BrokenArchive(`${String(found[0]?.["account"])} would have privileges that no tenant has.`);
  });
