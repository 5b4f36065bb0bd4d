import { existsSync } from "node:fs";
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { imageServerRole, loopback, ports } from "./addresses.ts";
import { inParts, inStack } from "./paths.ts";
import { run } from "./run.ts";

const dataDir = inStack("data", "postgres");
const program = (name: string): string => inParts("postgres", "current", "bin", name);
const nobody = 65534;

/**
 * Postgres refuses to run as root. Its programs and data may be in a folder that only root may enter (a home), so the
 * process keeps a single privilege, to traverse folders; the secure bit makes access(2) respect it too.
 */
const asNobody = [
  "setpriv",
  `--reuid=${nobody}`,
  `--regid=${nobody}`,
  "--clear-groups",
  "--securebits=+no_setuid_fixup",
  "--inh-caps=-all,+dac_read_search",
  "--ambient-caps=-all,+dac_read_search",
];

const settings = {
  listen_addresses: "127.0.0.1",
  port: ports.postgres,
  unix_socket_directories: "",
  max_connections: 300,
  shared_buffers: "256MB",
  max_wal_size: "2GB",
  max_parallel_workers_per_gather: 1,
  jit: "off",
  random_page_cost: 1.1,
  fsync: "on",
  timezone: "UTC",
  log_timezone: "UTC",
  log_min_duration_statement: "1s",
};

export const postgresCommand = [
  ...asNobody,
  program("postgres"),
  "-D",
  dataDir,
  ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
];

export async function ensureCluster(): Promise<void> {
  if (existsSync(join(dataDir, "PG_VERSION"))) return;
  await mkdir(dataDir, { recursive: true });
  await chown(dataDir, nobody, nobody);
  await chmod(dataDir, 0o700);
  const [setpriv = "", ...privileges] = asNobody;
  const locale = ["-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  // No sync at the end: the first start writes everything again before anything depends on it.
  const args = [...privileges, program("initdb"), "-D", dataDir, "-U", "postgres", "-A", "trust", ...locale, "-N"];
  await run(setpriv, args, { cwd: "/" });
}

export const psql = (database: string, ...statements: string[]): Promise<string> =>
  run(inParts("bin", "psql"), [
    `postgres://postgres@${loopback(ports.postgres)}/${database}`,
    "-XAtq",
    "-v",
    "ON_ERROR_STOP=1",
    ...statements.flatMap((statement) => ["-c", statement]),
  ]);

export const isReady = async (): Promise<boolean> => (await psql("postgres", "select 1")).trim() === "1";

/** The role and database of the system of record. CREATEDB, because tests clone databases from a template. */
export async function ensureDatabase(): Promise<void> {
  const role = await psql("postgres", "select 1 from pg_roles where rolname = 'moorage'");
  if (role === "") await psql("postgres", "create role moorage login createdb");
  if (!(await databaseExists("moorage"))) await psql("postgres", "create database moorage owner moorage");
}

/** The image server's role can only read the image tables. Run after the migrations. */
export async function ensureImageServerRole(): Promise<void> {
  const role = await psql("postgres", `select 1 from pg_roles where rolname = '${imageServerRole}'`);
  if (role === "") await psql("postgres", `create role ${imageServerRole} login`);
  await psql("moorage", `grant select on images, image_copies to ${imageServerRole}`);
}

export const databaseExists = async (name: string): Promise<boolean> =>
  (await psql("postgres", `select datname from pg_database`)).split("\n").includes(name);
