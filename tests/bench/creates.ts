import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import autocannon from "autocannon";
import type pg from "pg";
import { acceptCreate } from "../../packages/control-plane/src/databases/api/accept-create.ts";
import { createPool } from "../../packages/control-plane/src/platform/db/database.ts";
import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import { inParts, inStack } from "../../tools/stack/paths.ts";
import { withBenchDatabase } from "./bench-database.ts";
import { startServer } from "./start-server.ts";

const run = promisify(execFile);
const ROUNDS = 8;
const SECONDS = 3;
const CLIENTS = 32;
const PATH = "/v4/databases/mysql/instances";

/** Creates through the API, alternating with pgbench running the same statements; each client has its own account. */
export const benchCreates = (): Promise<boolean> =>
  withBenchDatabase("bench_creates", async (databaseUrl) => {
    const pool = createPool(databaseUrl, 2);
    const tokens = await seed(pool);
    const server = await startServer("whole", { DATABASE_URL: databaseUrl, MOORAGE_TOKEN: tokens[0] as string });
    const script = inStack("bench-creates.sql");
    await writeFile(script, await pgbenchScript());
    try {
      console.log(
        `one after the other: ${(await fsyncsPerCreate(pool, server.url, tokens)).toFixed(2)} fsyncs per create`,
      );
      const rounds: { ours: number; theirs: number }[] = [];
      for (let round = -1; round < ROUNDS; round++) {
        const pair = { ours: await throughApi(server.url, tokens), theirs: await throughPgbench(databaseUrl, script) };
        if (round >= 0) rounds.push(pair);
      }
      console.log(
        `creates/s at ${CLIENTS} clients, api ${rounds.map(({ ours }) => ours).join(" ")}, pgbench ${rounds.map(({ theirs }) => theirs).join(" ")}`,
      );
      const ratios = rounds.map(({ ours, theirs }) => ours / theirs).sort((a, b) => a - b);
      const median = ((ratios[ROUNDS / 2 - 1] as number) + (ratios[ROUNDS / 2] as number)) / 2;
      console.log(`median of the ratios ${median.toFixed(2)} (goal: at least 0.5)`);
      return median >= 0.5;
    } finally {
      server.process.kill("SIGTERM");
      await pool.end();
    }
  });

/** Accounts 1 to 32 of cell 1, with a user and a token each, and one offer. */
async function seed(pool: pg.Pool): Promise<string[]> {
  await pool.query(`
    insert into regions (id, label, country) values ('here', 'Here', 'de');
    insert into hosts (name, region, failure_domain, address, node_network, state, memory_mb, disk_mb, vcpus, created_at)
      values ('host', 'here', 'rack', '10.127.0.1', '10.128.16.0/20', 'active', 1, 1, 1, now());
    insert into plans (id, label, class, memory_mb, disk_mb, vcpus) values ('small', 'Small', 'standard', 1024, 10240, 1);
    insert into engine_versions (id, engine, version, image, prepared) values ('mysql/9.7.4', 'mysql', '9.7.4', 'a', 'b');
    insert into accounts (id, company, email, max_databases, max_nodes, max_memory_mb, max_disk_mb, created_at)
      select n * 1024 + 1, 'c' || n, n || '@bench.test', 1e9, 1e9, 1e15, 1e15, now() from generate_series(1, ${CLIENTS}) n;
    insert into users (account_id, id, username, email, restricted, created_at)
      select id, id, 'u' || id, email, false, now() from accounts`);
  const tokens = Array.from({ length: CLIENTS }, () => randomBytes(32).toString("hex"));
  for (const [at, token] of tokens.entries())
    await pool.query(
      `insert into tokens (account_id, user_id, label, sha256, prefix, scopes, created_at)
       values ($1, $1, 'bench', $2, 'bench', '{*}', now())`,
      [(at + 1) * 1024 + 1, sha256(token)],
    );
  return tokens;
}

let labels = 0;
const body = (): string =>
  JSON.stringify({ label: `made-${++labels}`, region: "here", type: "small", engine: "mysql/9.7.4" });

async function throughApi(url: string, tokens: readonly string[]): Promise<number> {
  let next = 0;
  const result = await autocannon({
    url: `${url}${PATH}`,
    method: "POST",
    connections: CLIENTS,
    duration: SECONDS,
    setupClient(client) {
      const headers = { authorization: `Bearer ${tokens[next++ % CLIENTS]}`, "content-type": "application/json" };
      const setNextBody = (): void => client.setHeadersAndBody(headers, body());
      setNextBody();
      client.on("response", setNextBody);
    },
  });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} creates were refused`);
  return Math.round(result["2xx"] / result.duration);
}

async function throughPgbench(databaseUrl: string, script: string): Promise<number> {
  const { stdout } = await run(inParts("bin", "pgbench"), [
    "-n",
    "-M",
    "prepared",
    "-c",
    String(CLIENTS),
    "-j",
    "2",
    "-T",
    String(SECONDS),
    "-f",
    script,
    databaseUrl,
  ]);
  return Math.round(Number(/tps = ([\d.]+)/.exec(stdout)?.[1]));
}

/** The statements as the API sends them; values that differ between creates are variables. */
async function pgbenchScript(): Promise<string> {
  const seen = { text: "", values: [] as unknown[] };
  const variables: Record<string, string> = {
    accountId: ":account::bigint",
    userId: ":account::bigint",
    id: ":id::bigint",
    operationId: ":operation::bigint",
    label: "('p-' || :id)",
    at: "now()",
    deadlineAt: "now()",
    sweepAt: "now()",
  };
  const constants: Record<string, string> = {
    username: "'u'",
    restricted: "false",
    url: `'${PATH}'`,
    target: "'database'",
    engineVersion: "'mysql/9.7.4'",
    region: "'here'",
    plan: "'small'",
    clusterSize: "1",
    replicationType: "'none'",
    encrypted: "false",
    sslConnection: "true",
    allowList: "'{}'",
    status: "'provisioning'",
    updates: `'{"frequency": "weekly", "duration": 3, "hour_of_day": 20, "day_of_week": 7, "week_of_month": null}'`,
    adminPassword: `'${"x".repeat(200)}'`,
    kind: "'provisionDatabase'",
    input: "'{}'",
    databases: "1",
    nodes: "1",
    memory_mb: "1024",
    disk_mb: "10240",
  };
  const named = new Proxy({}, { get: (_target, name) => new Marked(String(name)) });
  const client = { release: () => {}, query: async (query: typeof seen) => (Object.assign(seen, query), { rows: [] }) };
  await acceptCreate(client as never, named as never);
  const text = seen.text.replace(/\$(\d+)/g, (_match, number: string) => {
    const value = seen.values[Number(number) - 1];
    if (!(value instanceof Marked)) return value === null ? "null" : `'${value as string}'`;
    return variables[value.name] ?? constants[value.name] ?? "null";
  });
  return [
    "\\set account (:client_id + 1) * 1024 + 1",
    "begin;",
    "select next_id('databases_seq') as id, next_id('operations_seq') as operation \\gset",
    `${text.replace(/\s*\n\s*/g, " ").trim()};`,
    "commit;",
  ].join("\n");
}

class Marked {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

async function fsyncsPerCreate(pool: pg.Pool, url: string, tokens: readonly string[]): Promise<number> {
  const fsyncs = async (): Promise<number> => {
    await pool.query("select pg_sleep(11)"); // An idle connection may hold back its statistics for this long.
    const { rows } = await pool.query("select sum(fsyncs) as fsyncs from pg_stat_io where object = 'wal'");
    return Number(rows[0].fsyncs);
  };
  const creates = 100;
  const before = await fsyncs();
  for (let n = 0; n < creates; n++) {
    const reply = await fetch(`${url}${PATH}`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens[0]}`, "content-type": "application/json" },
      body: body(),
    });
    if (reply.status !== 200) throw new Error(await reply.text());
  }
  return ((await fsyncs()) - before) / creates;
}
