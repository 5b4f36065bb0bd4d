import { ports } from "./addresses.ts";
import { inParts } from "./paths.ts";
import { psql } from "./postgres.ts";
import { run } from "./run.ts";

/** Temporal's databases and the folder of their schema in the tool. */
const databases = { temporal: "temporal", temporal_visibility: "visibility" } as const;

/** Creates Temporal's databases where they are missing, with the schema of the installed server. */
export async function temporalSchema(): Promise<void> {
  await Promise.all(Object.entries(databases).map(([database, schema]) => ensureSchema(database, schema)));
}

/** Drops everything that Temporal stores. Stop the service first; `temporalSchema` creates the databases again. */
export async function dropTemporalDatabases(): Promise<void> {
  for (const database of Object.keys(databases)) {
    await psql("postgres", `drop database if exists ${database} with (force)`);
  }
}

async function ensureSchema(database: string, schema: string): Promise<void> {
  const tool = (...args: string[]): Promise<string> =>
    run(inParts("bin", "temporal-sql-tool"), [
      "--plugin",
      "postgres12",
      "--ep",
      "127.0.0.1",
      "-p",
      String(ports.postgres),
      "-u",
      "postgres",
      "--db",
      database,
      ...args,
    ]);
  const exists = await psql("postgres", `select 1 from pg_database where datname = '${database}'`);
  if (exists === "") await tool("create-database");
  // An interrupted set-up left no version: it starts again from nothing.
  const versioned = await psql(database, "select to_regclass('schema_version') is not null");
  if (versioned.trim() !== "t") await tool("setup-schema", "-v", "0.0");
  await tool("update-schema", "--schema-name", `postgresql/v12/${schema}`);
}
