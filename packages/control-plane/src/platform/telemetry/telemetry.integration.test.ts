import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSigned } from "@moorage/testkit/certificates.ts";
import { startRecordingCollector } from "@moorage/testkit/recording-collector.ts";
import { expect, test } from "vitest";
import { sha256 } from "#platform/sha256.ts";
import { ENGINE, newWorld, PLAN, REGION, type World } from "#testing/world.ts";

const OPERATOR_TOKEN = "the-operators-own-token";

/** Prints on stderr which modules of OpenTelemetry are loaded. */
const reportOpenTelemetry = `data:text/javascript,${encodeURIComponent(
  `import { registerHooks } from "node:module";
   registerHooks({ load(url, context, next) {
     if (url.includes("@opentelemetry/")) process.stderr.write("loaded " + url + "\\n");
     return next(url, context);
   } });`,
)}`;

/** The process as in production, on the test world's database. */
async function startApi(world: World, settings: Record<string, string> = {}) {
  const [api, admin] = [await freePort(), await freePort()];
  const folder = mkdtempSync(join(tmpdir(), "moorage-telemetry-"));
  const keys = join(folder, "keys.json");
  writeFileSync(keys, JSON.stringify({ current: "k1", keys: { k1: randomBytes(32).toString("base64") } }));
  writeFileSync(join(folder, "ca.pem"), (await selfSigned("CN=Databases", { authority: true })).certificate);
  const child: ChildProcess = spawn(
    process.execPath,
    ["--import", reportOpenTelemetry, join(import.meta.dirname, "../../bin/api.ts")],
    {
      env: {
        PATH: process.env["PATH"],
        DATABASE_URL: world.databaseUrl,
        // A busy machine delays its event loop.
        MOORAGE_MAX_LAG_MS: "600000",
        MOORAGE_API_LISTEN: `127.0.0.1:${api}`,
        MOORAGE_ADMIN_LISTEN: `127.0.0.1:${admin}`,
        MOORAGE_ZONE: "moorage.test",
        MOORAGE_KEYS_FILE: keys,
        MOORAGE_DATABASE_CA_DIR: folder,
        MOORAGE_OPERATOR_TOKEN_SHA256: sha256(OPERATOR_TOKEN).toString("hex"),
        // It only signs addresses of this store.
        MOORAGE_S3_URL: "http://127.0.0.1:9",
        MOORAGE_S3_ACCESS_KEY: "nobody",
        MOORAGE_S3_SECRET_KEY: "nothing",
        ...settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${api}`;
  const adminUrl = `http://127.0.0.1:${admin}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the process ended:\n${output}`);
    const answer = await fetch(`${adminUrl}/health`).catch(() => undefined);
    if (answer?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url, adminUrl, output: () => output, stop, [Symbol.asyncDispose]: stop };
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
};

const create = (url: string, token: string, label: string): Promise<Response> =>
  fetch(`${url}/v4/databases/mysql/instances`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", traceparent: STRANGERS },
    body: JSON.stringify({ label, region: REGION, type: PLAN, engine: ENGINE }),
  });
const STRANGERS = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;

test("one create is one trace through HTTP and SQL, and no secret is in it or in the log", async () => {
  await using world = await newWorld();
  await world.host();
  const alice = await world.customer();
  await using collector = await startRecordingCollector();
  await using api = await startApi(world, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, LOG_LEVEL: "trace" });

  const reply = await create(api.url, alice.token, "traced-label");
  expect(reply.status).toBe(200);
  const { id } = (await reply.json()) as { id: number };
  await fetch(`${api.url}/v4/databases/mysql/instances?access_token=secret-in-query`);
  await fetch(`${api.url}/v4/databases/mysql/instances/0000secretinpath`);
  await api.stop();

  const spans = collector.spans();
  const request = spans.find(({ name }) => name === "createMysqlDatabase");
  expect(request).toMatchObject({
    service: "moorage-api",
    attributes: { "http.route": "/v4/databases/mysql/instances", "http.response.status_code": 200 },
  });
  // Tenants cannot choose the trace of their requests.
  expect(STRANGERS).not.toContain(request?.traceId);
  const statements = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
  expect(new Set(statements.map(({ traceId }) => traceId))).toEqual(new Set([request?.traceId]));
  const names = statements.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["select", "begin", "accept-create", "commit"]));
  expect(statements.find(({ name }) => name === "accept-create")?.attributes["db.query.text"]).toMatch(/\$1/);

  const { admin_password } = await world.databaseRow(id);
  for (const secret of [alice.token, admin_password, "secret-in-query"]) {
    expect(collector.text()).not.toContain(secret);
    expect(api.output()).not.toContain(secret);
  }
  for (const value of ["traced-label", "0000secretinpath"]) expect(collector.text()).not.toContain(value);
});

test("without a collector OpenTelemetry is not loaded, and only the operator reads metrics", async () => {
  await using world = await newWorld();
  await world.host();
  const alice = await world.customer();
  await using api = await startApi(world);

  expect((await create(api.url, alice.token, "counted-label")).status).toBe(200);
  await fetch(`${api.url}/v4/databases/mysql/instances`, { headers: { authorization: "Bearer nonsense" } });
  await fetch(`${api.url}/wp-login.php`);

  expect((await fetch(`${api.adminUrl}/metrics`)).status).toBe(401);
  expect((await fetch(`${api.url}/metrics`)).status).toBe(404);
  const scrape = () => fetch(`${api.adminUrl}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } });
  // The clock of the process is that of PostgreSQL.
  await expect.poll(async () => (await scrape()).text()).toMatch(/^moorage_clock_ahead_seconds\{process="api"\} -?\d/m);
  const scraped = await scrape();
  expect(scraped.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await scraped.text()).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'moorage_http_request_seconds_count{process="api",operation="createMysqlDatabase",status="2xx"} 1',
      'moorage_http_request_seconds_count{process="api",operation="listMysqlDatabases",status="4xx"} 1',
      'moorage_http_request_seconds_count{process="api",operation="none",status="4xx"} 2',
      expect.stringMatching(/^moorage_refusals_total\{.*code="request.path_without_version".*\} 2$/),
      'moorage_operations_open{kind="provisionDatabase",process="api"} 1',
      'moorage_operations_waiting{kind="provisionDatabase",process="api"} 1',
      'moorage_hosts{state="active",process="api"} 1',
    ]),
  );
  expect(lines.find((line) => line.startsWith("nodejs_eventloop_lag_seconds"))).toBeDefined();
  expect(lines.join()).not.toMatch(/counted-label|wp-login/);
  // `api` is the interface without an implementation: the metrics library imports it.
  expect(api.output()).not.toMatch(/loaded \S+@opentelemetry\/(?!api)/);
});
