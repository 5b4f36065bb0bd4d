/**
 * The schema that the migrations amount to: schema.sql, to be read, and the types of the tables. With --write both are
 * written, without they are compared with a PostgreSQL of this run's own.
 */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { startPostgres } from "@moorage/testkit/postgres-server.ts";
import type pg from "pg";
import { createDb, createPool } from "../packages/control-plane/src/platform/db/database.ts";
import { migrate } from "../packages/control-plane/src/platform/db/migrate.ts";
import { schemaSql } from "./schema/schema-sql.ts";
import { type Column, readNarrowed, tableTypes } from "./schema/table-types.ts";
import { inParts, repo } from "./stack/paths.ts";

const home = join(repo, "packages", "control-plane");
const inDb = (name: string): string => join(home, "src", "platform", "db", name);
/** Partitions of events are named after the current week, and Kysely keeps its own record of the migrations. */
const leftOut = ["events_w*", "kysely_migration*"];

type Schema = { dump: string; columns: Column[] };

async function readSchema(): Promise<Schema> {
  const starting = startPostgres();
  // Without its server the run fails, and removes what it created.
  const cancel = () => void starting.then(({ stop }) => stop());
  process.once("SIGINT", cancel).once("SIGTERM", cancel);
  const server = await starting;
  const url = server.urlOf("postgres");
  const pool = createPool(url, 1);
  const db = createDb(pool);
  pool.on("error", () => {});
  try {
    await migrate(db, join(home, "migrations"), 1);
    const columns = await readColumns(pool);
    const options = ["--schema-only", "--no-owner", "--no-privileges"];
    const excluded = leftOut.map((pattern) => `--exclude-table=${pattern}`);
    const { stdout } = await promisify(execFile)(inParts("bin", "pg_dump"), [...options, ...excluded, url], {
      // It writes default times in the zone of the machine.
      env: { ...process.env, PGTZ: "UTC" },
    });
    return { dump: stdout, columns };
  } finally {
    await db.destroy();
    await server.stop();
  }
}

async function readColumns(pool: pg.Pool): Promise<Column[]> {
  const { rows } = await pool.query<Column>(
    `select relname as table, attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as nullable,
       pg_get_expr(adbin, adrelid) as default,
       array(select pg_get_constraintdef(oid) from pg_constraint
         where conrelid = attrelid and contype = 'c' and conkey = array[attnum] order by conname) as checks
     from pg_class join pg_attribute on attrelid = pg_class.oid
       left join pg_attrdef on adrelid = attrelid and adnum = attnum
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname not like 'kysely_migration%' and attnum > 0 and not attisdropped
     order by relname collate "C", attnum`,
  );
  return rows;
}

function formatted(file: string, text: string): string {
  const biome = join(repo, "node_modules", ".bin", "biome");
  const { status, stdout, stderr } = spawnSync(biome, ["format", `--stdin-file-path=${file}`], {
    cwd: repo,
    encoding: "utf8",
    input: text,
  });
  if (status !== 0) throw new Error(`${relative(repo, file)} cannot be formatted:\n${stderr}`);
  return stdout;
}

/** Empty if the file has this text. */
function difference(file: string, text: string): string {
  const labels = [relative(repo, file), "the migrations"].flatMap((label) => ["--label", label]);
  return spawnSync("diff", ["--unified", "--new-file", ...labels, file, "-"], { encoding: "utf8", input: text }).stdout;
}

const { dump, columns } = await readSchema();
const types = inDb("tables.gen.ts");
const generated: [file: string, text: string][] = [
  [join(home, "schema.sql"), schemaSql(dump)],
  [types, formatted(types, tableTypes(columns, readNarrowed(readFileSync(inDb("tables.ts"), "utf8"))))],
];
if (process.argv.includes("--write")) for (const [file, text] of generated) writeFileSync(file, text);
else {
  const differences = generated.map(([file, text]) => difference(file, text)).filter((text) => text !== "");
  if (differences.length > 0) {
    console.log(`${differences.join("\n")}\nThe migrations have another schema. Run \`pnpm schema\`.`);
    process.exitCode = 1;
  }
}
