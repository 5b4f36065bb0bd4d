import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ArchivedLog, NodeSpec } from "@moorage/contract/agent";
import { type ObjectStore, startObjectStore } from "@moorage/testkit/object-store.ts";
import { inTurn } from "@moorage/testkit/turns.ts";
import type { RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { runAbortable } from "../mysql/node-sql.ts";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { keepBusy } from "../testing/busy-server.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, sh, type TestHost, until } from "../testing/test-host.ts";
import { archivedNode } from "./archived-node.ts";
import { Manifest } from "./manifest.ts";
import { purgeShipped } from "./ship-logs.ts";

let host: TestHost;
let gateway: FakeGateway;
let store: ObjectStore;
let environment: Record<string, string>;
let identity: string;
let recipient: string;
const [plain, secret] = [randomUUID(), randomUUID()];
const timelines = { [plain]: randomUUID(), [secret]: randomUUID() };
const specs = new Map<string, NodeSpec>();
/** Half a day away: no nightly copy begins during these tests. */
const copyHour = (new Date().getUTCHours() + 12) % 24;

const socketOf = (node: string) => nodePaths(hostPaths(host.state), node).socket;
const sql = (node: string, text: string, values: unknown[] = []): Promise<RowDataPacket[]> =>
  withPatientRoot(socketOf(node), async (connection) => {
    const [rows] = await connection.query<RowDataPacket[]>(text, values);
    return rows;
  });

/** Sets a node's desired state: its last spec with a change. */
function setDesired(node: string, change: Partial<NodeSpec>): NodeSpec {
  const before = specs.get(node) ?? spec(node);
  const after = { ...before, ...change, generation: before.generation + (specs.has(node) ? 1 : 0) };
  specs.set(node, after);
  gateway.setDesired(...specs.values());
  return after;
}
const spec = (node: string): NodeSpec =>
  testSpec({
    node,
    engine: builtEngine,
    uid: node === plain ? 2_000_000_001 : 2_000_000_002,
    network: { address: host.address(node === plain ? 1 : 2), port: node === plain ? 20_001 : 20_002 },
    database: { ...testSpec().database, encrypted: node === secret },
    resources: { memory_mb: 512, vcpus: 2, disk_mb: 2048 },
    data: { timeline: timelines[node] ?? "", ordinal: 0, origin: "prepared" },
    archive: { recipient, log_seconds: 1, copy_hours: { from: copyHour, to: copyHour + 1 }, verify_days: 7 },
  });
const taskOf = (node: string, id: string) => gateway.latest(node)?.tasks?.find((task) => task.id === id);
const logsOf = (node: string): ArchivedLog[] =>
  gateway.archived.filter((reported) => reported.node === node).flatMap((reported) => reported.logs ?? []);
const keyOf = (node: string, name: string) => `${timelines[node]}/${name}`;
const opened = (bytes: Buffer): Buffer =>
  execFileSync("sh", ["-c", `age -d -i ${identity} | zstd -dc`], { input: bytes, maxBuffer: 1 << 30 });
const openLog = (node: string, name: string): string =>
  opened(store.read(keyOf(node, `logs/${name}`))).toString("latin1");

async function allReported(node: string): Promise<ArchivedLog[]> {
  const [row] = await sql(node, "SELECT @@GLOBAL.gtid_executed AS gtids");
  const gtids = String(row?.["gtids"]).replaceAll("\n", "");
  await until("the logs to be reported", () => logsOf(node).at(-1)?.gtid === gtids);
  return logsOf(node);
}

/** Waits until the agent has completed this many rounds of shipping. */
async function rounds(count: number): Promise<void> {
  const trace = join(host.crash, "trace");
  writeFileSync(trace, "");
  await until("rounds of shipping", () => readFileSync(trace, "utf8").split("agent.ship.purge").length > count);
  rmSync(trace);
}

/** Waits until neither node has anything left to report. */
async function atRest(): Promise<void> {
  for (const node of [plain, secret]) await allReported(node);
  await rounds(4);
}

/** What copies have left behind: mounts, loop devices, files, programs. */
function leftovers(): string[] {
  const folder = join(host.state, "scratch");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => name !== plain && name !== secret,
  );
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .filter((line) => line.includes(`${folder}/`));
  const devices = sh("losetup -a")
    .split("\n")
    .filter((line) => line.includes(`${folder}/`));
  const programs = sh(`pgrep -af '${host.dir}|${recipient}' | grep -E ' (tar|zstd|age|bash) ' || true`).trim();
  return [...files, ...mounts, ...devices, ...(programs === "" ? [] : [programs])];
}

beforeAll(async () => {
  host = await makeTestHost("moor-t-arc", "198.18.84");
  gateway = await startFakeGateway(host.outside, 14448, enrolToken);
  store = await startObjectStore(host.outside);
  gateway.archive.store = store;
  identity = join(host.dir, "identity");
  sh(`age-keygen -o ${identity} 2>/dev/null`);
  recipient = sh(`age-keygen -y ${identity}`).trim();
  environment = { ...agentEnvironment(host, gateway), MOORAGE_CRASH_DIR: host.crash };
  for (const node of [plain, secret]) host.known(node);
  host.startAgent(environment);
  for (const node of [plain, secret]) setDesired(node, {});
  for (const node of [plain, secret]) await until("both to run", () => gateway.latest(node)?.state === "running");
  for (const node of [plain, secret]) {
    await sql(node, "CREATE DATABASE shop");
    await sql(node, "CREATE TABLE shop.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARBINARY(1000))");
  }
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
  await store?.close();
});

describe("binary logs", () => {
  test.each(["plain", "encrypted"])(
    "of the %s node are archived as encrypted text, in order and without a gap",
    async (kind) => {
      const node = kind === "plain" ? plain : secret;
      await sql(node, "INSERT INTO shop.t (a) VALUES ('first'), ('second')");
      await allReported(node);
      await sql(node, "INSERT INTO shop.t (a) VALUES ('third')");
      const logs = await allReported(node);
      expect(logs.map(({ sequence }) => sequence)).toEqual(logs.map((_, index) => index + 1));
      expect(logs.length).toBeGreaterThan(1);
      for (const log of logs) {
        const bytes = store.read(keyOf(node, `logs/${log.name}`));
        expect([bytes.length, createHash("sha256").update(bytes).digest("hex")]).toEqual([log.bytes, log.sha256]);
        expect(bytes.subarray(0, 21).toString()).toBe("age-encryption.org/v1");
      }
      const text = logs.map(({ name }) => openLog(node, name)).join("");
      expect(text).toContain("CREATE TABLE shop.t");
      expect(text.match(/^BINLOG '/gm)?.length).toBeGreaterThanOrEqual(2);
    },
  );

  test("are reported with the time that the archive reaches to; an idle node reports nothing", async () => {
    const written = Date.now();
    await sql(plain, "INSERT INTO shop.t (a) VALUES ('before')");
    await atRest();
    const reported = gateway.archived.filter(({ node }) => node === plain).at(-1);
    expect(Date.parse(reported?.through ?? "")).toBeGreaterThanOrEqual(written);
    const counts = () => [
      gateway.archived.length,
      gateway.requestedPaths.filter((path) => path === "/v1/uploads").length,
    ];
    const before = counts();
    await rounds(6);
    expect(counts()).toEqual(before);
  });

  test.each(["plain", "encrypted"])(
    "with one statement larger than the container's tmpfs are shipped, of the %s node",
    async (kind) => {
      const node = kind === "plain" ? plain : secret;
      await sql(node, "CREATE TABLE shop.wide (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARBINARY(1000))");
      const source = Array.from({ length: 40 }, () => "SELECT 1").join(" UNION ALL ");
      await sql(
        node,
        `INSERT INTO shop.wide (a) SELECT RANDOM_BYTES(1000) FROM (${source}) x, (${source}) y, (${source.slice(0, 180)}) z`,
      );
      const logs = await allReported(node);
      const size = logs.slice(-2).reduce((sum, { name }) => sum + openLog(node, name).length, 0);
      expect(size).toBeGreaterThan(16 * 1024 * 1024);
    },
  );

  test("that could not be shipped are kept, and shipped when the store is reachable again", async () => {
    const node = archivedNode(hostPaths(host.state), specs.get(plain));
    if (node === undefined) throw new Error("no archive");
    const later = () => new Date(Date.now() + 7 * 3_600_000);
    const purge = () => purgeShipped({ clock: later } as Parameters<typeof purgeShipped>[0], node, false);
    await allReported(plain);
    await purge();
    await store.stop();
    await sql(plain, "INSERT INTO shop.t (a) VALUES ('while the store is away')");
    const reported = logsOf(plain).at(-1)?.sequence ?? 0;
    await until("a log to be closed in vain", async () => {
      const logs = await sql(plain, "SHOW BINARY LOGS");
      return Number(String(logs.at(-1)?.["Log_name"]).split(".")[1]) > reported + 1;
    });
    expect(await purge()).toEqual([]);
    await store.start();
    const logs = await allReported(plain);
    expect(logs.map(({ sequence }) => sequence)).toEqual(logs.map((_, index) => index + 1));
    // A log may be purged only once the acknowledgement is on disk, a moment after the report.
    await until("it to be purged", async () => (await purge()).includes(logs.at(-1)?.name ?? ""));
  });

  test("without an acknowledgement are reported again as stored, and are not purged until then", async () => {
    const node = archivedNode(hostPaths(host.state), specs.get(plain));
    if (node === undefined) throw new Error("no archive");
    const clock = () => new Date(Date.now() + 7 * 3_600_000);
    gateway.archive.acknowledges = false;
    const before = (await store.keys(keyOf(plain, "logs/"))).length;
    await sql(plain, "INSERT INTO shop.t (a) VALUES ('unheard')");
    await until("it to be in the store", async () => (await store.keys(keyOf(plain, "logs/"))).length > before);
    await host.stopAgent("SIGKILL");
    expect(await purgeShipped({ clock } as Parameters<typeof purgeShipped>[0], node, false)).toEqual([]);
    host.startAgent(environment);
    gateway.archive.acknowledges = true;
    const log = (await allReported(plain)).at(-1);
    const bytes = store.read(keyOf(plain, `logs/${log?.name}`));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(log?.sha256);
  });
});

describe("a copy", () => {
  test.each(["plain", "encrypted"])(
    "of the %s node is a data directory on which a server starts, with the same rows",
    async (kind) => {
      const node = kind === "plain" ? plain : secret;
      await sql(node, "INSERT INTO shop.t (a) SELECT RANDOM_BYTES(900) FROM shop.wide LIMIT 12000");
      const [expected] = await sql(node, "CHECKSUM TABLE shop.t");
      const id = randomUUID();
      setDesired(node, { tasks: [{ id, kind: "copy" }] });
      await until("the copy", () => taskOf(node, id)?.state === "done");
      const reported = gateway.archived.flatMap(({ copies }) => copies ?? []).find((copy) => copy.id === id);
      const text = store.read(keyOf(node, `copies/${id}/manifest.json`));
      expect(createHash("sha256").update(text).digest("hex")).toBe(reported?.manifest_sha256);
      const manifest = Manifest.parse(JSON.parse(text.toString()));
      expect(manifest).toMatchObject({ id, timeline: timelines[node], encrypted: node === secret });
      const names = await store.keys(keyOf(node, `copies/${id}/part-`));
      const parts = names.map((name) => store.read(name));
      expect(
        parts.map((part) => ({ bytes: part.length, sha256: createHash("sha256").update(part).digest("hex") })),
      ).toEqual(manifest.parts);
      expect(parts.length).toBeGreaterThan(1);

      const rows = await startedOn(opened(Buffer.concat(parts)), spec(node).uid, "CHECKSUM TABLE shop.t");
      expect(rows).toBe(`shop.t\t${expected?.["Checksum"]}`);
      await expect.poll(leftovers).toEqual([]);
    },
  );

  test("is not repeated by a restarted agent, and its outcome stays in the node's reports", async () => {
    const id = specs.get(plain)?.tasks?.[0]?.id ?? "";
    const reported = gateway.archived.length;
    await host.stopAgent();
    host.startAgent(environment);
    const messagesBefore = gateway.messages.length;
    await until("a complete report", () =>
      gateway.messages
        .slice(messagesBefore)
        .some(({ complete, nodes }) => complete && nodes.some(({ state }) => state === "running")),
    );
    await until("the job in it", () => taskOf(plain, id)?.state === "done");
    expect(gateway.archived.slice(reported).flatMap(({ copies }) => copies ?? [])).toEqual([]);
  });

  test.each(inTurn(["agent.copy.clone", "agent.copy.upload", "agent.copy.record", "agent.archive.reported"], 2))(
    "interrupted by the agent's death after %s leaves nothing, and is made and reported once",
    async (step) => {
      const id = randomUUID();
      await atRest(); // otherwise the crash could hit the shipping of a log
      writeFileSync(join(host.crash, "armed"), JSON.stringify({ step, mode: "kill-after" }));
      setDesired(plain, { tasks: [{ id, kind: "copy" }] });
      await host.agentExit();
      host.startAgent(environment);
      await until("the copy", () => taskOf(plain, id)?.state === "done");
      const reported = gateway.archived.flatMap(({ copies }) => copies ?? []).filter((copy) => copy.id === id);
      const manifests = new Set(reported.map(({ manifest_sha256 }) => manifest_sha256));
      const manifest = store.read(keyOf(plain, `copies/${id}/manifest.json`));
      expect([...manifests]).toEqual([createHash("sha256").update(manifest).digest("hex")]);
      await expect.poll(leftovers, { timeout: 300_000 }).toEqual([]);
    },
  );

  test("of a server that another member clones from waits for the clone and succeeds at the first try", async () => {
    const trace = join(host.crash, "trace");
    const id = randomUUID();
    const busy = keepBusy(nodePaths(hostPaths(host.state), plain));
    writeFileSync(trace, "");
    setDesired(plain, { tasks: [{ id, kind: "copy" }] });
    await until("the place for it", () => readFileSync(trace, "utf8").includes("agent.copy.scratch"));
    await busy.copies(3);
    await busy.end();
    rmSync(trace);
    await until("the copy", () => taskOf(plain, id)?.state === "done");
    const reported = gateway.messages.flatMap(({ nodes }) => nodes).flatMap(({ tasks }) => tasks ?? []);
    expect(reported.filter((task) => task.id === id && task.message !== undefined)).toEqual([]);
  });

  test("that is aborted is killed in its server", async () => {
    const order = new AbortController();
    const long = withPatientRoot(socketOf(plain), (connection) =>
      runAbortable(socketOf(plain), connection, order.signal, () =>
        connection.query("SELECT BENCHMARK(1000000000000, 1 + 1)"),
      ),
    );
    const underWay = "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT BENCHMARK%'";
    await until("the server to be at it", async () => (await sql(plain, underWay)).length === 1);
    order.abort();
    await Promise.allSettled([long]); // a killed BENCHMARK returns a result, other statements an error
    // The server may list it for a moment after its result has arrived.
    await expect.poll(() => sql(plain, underWay)).toEqual([]);
  });

  test("that is due is made by the host without a request", async () => {
    await host.stopAgent();
    const file = nodePaths(hostPaths(host.state), secret).state;
    const record = JSON.parse(readFileSync(file, "utf8"));
    const daysAgo = new Date(Date.now() - 2 * 86_400_000).toISOString();
    writeFileSync(file, JSON.stringify({ ...record, archive: { ...record.archive, newest_copy: daysAgo } }));
    const reported = gateway.archived.length;
    const started = Date.now();
    host.startAgent(environment);
    const copiesOf = () =>
      gateway.archived.slice(reported).flatMap(({ node, copies }) => (node === secret ? (copies ?? []) : []));
    await until("the copy", () => copiesOf().length > 0);
    expect(Date.parse(copiesOf()[0]?.ended_at ?? "")).toBeGreaterThanOrEqual(Math.floor(started / 1000) * 1000);
  });

  test("that does not fit on the host's disk fails with a message", async () => {
    const id = randomUUID();
    const filled = join(host.state, "scratch");
    sh(`mount -t tmpfs -o size=900m tmpfs ${filled}`);
    try {
      setDesired(plain, { tasks: [{ id, kind: "copy" }] });
      await until("its end", () => taskOf(plain, id)?.state === "failed");
      expect(taskOf(plain, id)?.message).toMatch(/^The host's disk has \d+ MB free, and a copy of this database needs/);
    } finally {
      // The agent may be reading it at this moment.
      sh(`umount --lazy ${filled}`);
    }
  });

  test("does not start on a powered-off node, whose last logs are shipped before it stops", async () => {
    await sql(secret, "INSERT INTO shop.t (a) VALUES ('the last')");
    const [row] = await sql(secret, "SELECT @@GLOBAL.gtid_executed AS gtids");
    setDesired(secret, { power: "off", tasks: [] });
    await until("it to rest", () => gateway.latest(secret)?.state === "stopped");
    expect(logsOf(secret).at(-1)?.gtid).toBe(String(row?.["gtids"]).replaceAll("\n", ""));
  });

  test("ends when its node gets a tombstone, and leaves nothing", async () => {
    const id = randomUUID();
    await store.stop(); // keeps the copy running
    setDesired(plain, { tasks: [{ id, kind: "copy" }] });
    await until("the copy to be under way", () => existsSync(join(host.state, "scratch", `${id}.img`)));
    setDesired(plain, { tasks: [], tombstone: { operation: 1 } });
    await until("its end", () => gateway.latest(plain)?.state === "gone");
    await until("everything to be away", () => !existsSync(join(host.state, "scratch", plain)));
    await expect.poll(leftovers).toEqual([]);
    await store.start();
    await expect.poll(leftovers).toEqual([]);
  });
});

/** Unpacks an archive, starts a server on it without a network, and queries it. */
async function startedOn(tar: Buffer, uid: number, question: string): Promise<string> {
  const folder = mkdtempSync(join(host.dir, "try-"));
  mkdirSync(join(folder, "run"));
  execFileSync("tar", ["-x", "-C", folder], { input: tar });
  sh(`chown -R ${uid}:${uid} ${folder} && chmod 755 ${folder}`);
  const keyring = existsSync(join(folder, "keyring"));
  if (keyring) {
    writeFileSync(join(folder, "mysqld.my"), JSON.stringify({ components: "file://component_keyring_file" }));
    writeFileSync(join(folder, "keyring.cnf"), JSON.stringify({ path: "/copy/keyring", read_only: false }));
  }
  const binds = [
    `${folder}:/copy`,
    ...(keyring
      ? [
          `${folder}/mysqld.my:/usr/sbin/mysqld.my`,
          `${folder}/keyring.cnf:/usr/lib/mysql/plugin/component_keyring_file.cnf`,
        ]
      : []),
  ].flatMap((bind) => ["--volume", bind]);
  const image = `localhost/moorage/mysql:${builtEngine.image}`;
  const server = [
    "--defaults-file=/copy/fixed.cnf",
    "--datadir=/copy/data",
    "--socket=/copy/run/s",
    "--skip-networking",
    "--secure-file-priv=NULL",
  ];
  host.podman(
    "run",
    "--detach",
    "--name",
    "try",
    "--network",
    "none",
    "--user",
    `${uid}:${uid}`,
    ...binds,
    "--entrypoint",
    "/usr/sbin/mysqld",
    image,
    ...server,
    "--mysqlx=OFF",
    "--disable-log-bin",
  );
  const runQuery = () =>
    host.podman("exec", "--user", `0:${uid}`, "try", "mysql", "-S", "/copy/run/s", "-BNe", question).trim();
  try {
    await until("the copy's server", () => {
      try {
        return runQuery() !== "";
      } catch {
        return false;
      }
    });
    return runQuery();
  } catch (error) {
    throw new Error(
      readFileSync(host.podman("inspect", "--format", "{{.HostConfig.LogConfig.Path}}", "try").trim(), "utf8").slice(
        -2000,
      ),
      { cause: error },
    );
  } finally {
    host.podman("rm", "--force", "--time", "0", "try");
    rmSync(folder, { recursive: true, force: true });
  }
}
