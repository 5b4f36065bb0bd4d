import { join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { readIfThere } from "../durable-file.ts";
import { withRoot } from "./node-sql.ts";
import { claimAccount } from "./reserved-account.ts";
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
  withRoot(socket, (connection) => writeAdmin(connection, engine), { multipleStatements: true });

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
