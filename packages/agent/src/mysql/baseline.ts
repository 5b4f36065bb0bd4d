import { join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { readIfThere } from "../base/durable-file.ts";
import { despiteLocks } from "./despite-locks.ts";
import { withRoot } from "./node-sql.ts";
import { settings } from "./settings.ts";

/**
 * What a server has besides its tenant's data: the admin's rights, procedures and time zones. The statements are in
 * `engines/mysql` and also make the prepared directory; this code applies them to older servers. All of it goes to the
 * binary log, like the tenant's statements that rely on it, so members and restored logs follow.
 */
export type Engine = { enginesDir: string; spec: Pick<NodeSpec, "engine"> };

const statements = ({ enginesDir, spec }: Engine, name: string): Promise<string | undefined> =>
  readIfThere(join(enginesDir, spec.engine.name, name));

const levelIn = (text: string | null | undefined): number => Number(/\bbaseline (\d+)/.exec(text ?? "")?.[1] ?? 0);

/** The level of the engine's files on this host; 0 if their release had none. */
export const desiredBaseline = async (engine: Engine): Promise<number> =>
  levelIn(await statements(engine, "tools.sql"));

export const baselineOf = (socket: string): Promise<number> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>({
      sql: `SELECT attribute->>'$.comment' AS level FROM information_schema.user_attributes
        WHERE user = 'moorage_tools' AND host = 'localhost'`,
      timeout: 5000,
    });
    return levelIn(row?.["level"] as string | null | undefined);
  });

export const applySettings = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    for (const setting of settings) await connection.query(setting);
  });

/** On a server that takes writes. Each part may be repeated; the last one present shows that all are. */
export const writeBaseline = (socket: string, engine: Engine): Promise<void> =>
  withRoot(
    socket,
    async (connection) => {
      await writeAdmin(connection, engine);
      await loadTimeZones(connection, engine);
      await claimAccount(connection, "moorage_tools", "localhost");
      const tools = await statements(engine, "tools.sql");
      if (tools !== undefined) await connection.query(tools);
    },
    { multipleStatements: true, database: "mysql" },
  );

/** A tenant can revoke its admin's rights, rename the admin or drop it. Afterwards the admin exists with all rights. */
export const repairAdmin = (socket: string, engine: Engine): Promise<void> =>
  withRoot(socket, (connection) => despiteLocks(connection, () => writeAdmin(connection, engine)), {
    multipleStatements: true,
  });

async function writeAdmin(connection: Connection, engine: Engine): Promise<void> {
  const admin = await statements(engine, "admin.sql");
  if (admin !== undefined) await connection.query(admin);
}

/** All or nothing. Existing time zones stay as they are. */
async function loadTimeZones(connection: Connection, engine: Engine): Promise<void> {
  const [found] = await connection.query<RowDataPacket[]>("SELECT 1 FROM mysql.time_zone_name LIMIT 1");
  const zones = await statements(engine, "timezones.sql");
  if (found.length > 0 || zones === undefined) return;
  await connection.query(`START TRANSACTION; ${zones} COMMIT`);
}

const stored = `SELECT CONCAT(LOWER(routine_type), ' ', routine_schema, '.', routine_name) AS name
  FROM information_schema.routines WHERE definer = ? AND routine_schema <> 'sys'
  UNION ALL SELECT CONCAT('event ', event_schema, '.', event_name) FROM information_schema.events WHERE definer = ?
  UNION ALL SELECT CONCAT('trigger ', trigger_schema, '.', trigger_name) FROM information_schema.triggers WHERE definer = ?
  UNION ALL SELECT CONCAT('view ', table_schema, '.', table_name) FROM information_schema.views WHERE definer = ?
  LIMIT 1`;

/**
 * Creates one of our accounts on a server that may hold a tenant's objects. A tenant may name a definer that does not
 * exist; had it named this account, its code would run with the rights that the account gets next. Once the account has
 * SYSTEM_USER, tenants can no longer name it, so a search then finds every object that did.
 */
export async function claimAccount(connection: Connection, user: string, host: string): Promise<void> {
  await connection.query(
    "CREATE USER IF NOT EXISTS ?@? IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD ACCOUNT LOCK",
    [user, host],
  );
  await connection.query("GRANT SYSTEM_USER ON *.* TO ?@?", [user, host]);
  const definer = `${user}@${host}`;
  const [[found]] = await connection.query<RowDataPacket[]>(stored, [definer, definer, definer, definer]);
  if (found === undefined) return;
  await connection.query("DROP USER ?@?", [user, host]);
  throw new ReservedDefiner(`The ${String(found["name"])} has the definer ${definer}, which is reserved. Drop it.`);
}

class ReservedDefiner extends Error {
  override readonly name = "ReservedDefiner";
}
