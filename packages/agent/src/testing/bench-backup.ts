import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type ObjectStore, startObjectStore } from "@moorage/testkit/object-store.ts";
import type { RowDataPacket } from "mysql2/promise";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { withRoot } from "../mysql/node-sql.ts";
import { agentEnvironment, builtEngine, enrolToken } from "./agent-environment.ts";
import { startFakeGateway } from "./fake-gateway.ts";
import { testSpec } from "./node-spec.ts";
import { makeTestHost, sh, until } from "./test-host.ts";

const [mostGrowthMb, leastShare] = [64, 0.7];
const mb = 1024 * 1024;
const run = promisify(execFile);

/**
 * Copies a database of `dataMb` with a real agent and measures the memory of the agent and its children, without
 * caches, and the time compared with copying the same files by hand (`tar | zstd | curl`). True if both are allowed.
 */
export async function benchBackup(dataMb = 2048): Promise<boolean> {
  const host = await makeTestHost("moor-t-bck", "198.18.88");
  const gateway = await startFakeGateway(host.outside, 14449, enrolToken);
  const store = await startObjectStore(host.outside);
  gateway.archive.store = store;
  const node = randomUUID();
  const paths = nodePaths(hostPaths(host.state), node);
  host.known(node);
  try {
    sh(`age-keygen -o ${host.dir}/identity 2>/dev/null`);
    const recipient = sh(`age-keygen -y ${host.dir}/identity`).trim();
    const spec = testSpec({
      node,
      engine: builtEngine,
      resources: { memory_mb: 1024, vcpus: 2, disk_mb: dataMb * 2 + 1024 },
      network: { address: host.address(1), port: 20_001 },
      data: { timeline: randomUUID(), ordinal: 0, origin: "prepared" },
      archive: { recipient, log_seconds: 3600, copy_hours: { from: 3, to: 4 }, verify_days: 7 },
    });
    const environment = agentEnvironment(host, gateway);
    host.startAgent(environment);
    gateway.setDesired(spec);
    await until("the node", () => gateway.latest(node)?.state === "running");
    await fill(paths.socket, dataMb);

    const first = await copyByHand(store, host.dir, paths.volume);
    const id = randomUUID();
    const task = () => gateway.latest(node)?.tasks?.find((each) => each.id === id);
    // Restarted: garbage left from provisioning the node would hide the memory that the copy takes.
    await host.stopAgent();
    host.startAgent(environment);
    const agent = agentPid(host.state);
    const before = await leastMemory(agent);
    let peak = before;
    const sampling = setInterval(() => (peak = Math.max(peak, treeMemory(agent))), 50);
    const started = performance.now();
    gateway.setDesired({ ...spec, generation: 2, tasks: [{ id, kind: "copy" }] });
    await until("the copy", () => task()?.state === "done" || task()?.state === "failed", 1_800_000);
    const ours = performance.now() - started;
    clearInterval(sampling);
    if (task()?.state !== "done") throw new Error(task()?.message);

    // Before and after: on a busy machine neither alone is fair.
    const byHand = (first + (await copyByHand(store, host.dir, paths.volume))) / 2;
    const stored = gateway.archived.flatMap(({ copies }) => copies ?? []).find((copy) => copy.id === id)?.bytes ?? 0;
    const size = Number(sh(`du -sm ${excluded} ${paths.data}`).split("\t")[0]);
    for (const line of host
      .log()
      .split("\n")
      .filter((each) => each.includes('"table":"copy"'))) {
      const { step, ms } = JSON.parse(line) as { step: string; ms: number };
      console.log(`  ${step} ${(ms / 1000).toFixed(1)} s`);
    }
    const [growth, share] = [(peak - before) / mb, byHand / ours];
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s (${Math.round((size * 1000) / ms)} MB/s)`;
    console.log(
      `copy of ${size} MB, ${Math.round(stored / mb)} MB stored: agent ${seconds(ours)}, by hand ${seconds(byHand)}`,
    );
    console.log(`throughput ${share.toFixed(2)} of by hand (at least ${leastShare})`);
    console.log(
      `memory of agent and children ${Math.round(before / mb)} MB, at most ${Math.round(peak / mb)} MB: ` +
        `+${growth.toFixed(1)} MB (less than ${mostGrowthMb})`,
    );
    return growth < mostGrowthMb && share >= leastShare;
  } finally {
    await gateway.close();
    await host.close();
    await store.close();
  }
}

/** Half of each row is compressible. Not in the binary log, which is not part of a copy. */
async function fill(socket: string, dataMb: number): Promise<void> {
  const rowsAtOnce = 16_384;
  await withRoot(socket, async (connection) => {
    await connection.query("SET SESSION sql_log_bin = 0, SESSION cte_max_recursion_depth = 100000");
    await connection.query("CREATE DATABASE bench");
    await connection.query(
      "CREATE TABLE bench.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARBINARY(1000), b VARCHAR(1000))",
    );
    for (let rows = 0; rows * 2048 < dataMb * mb * 0.9; rows += rowsAtOnce)
      await connection.query(
        `INSERT INTO bench.t (a, b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         SELECT RANDOM_BYTES(960), REPEAT(HEX(i), 240) FROM n`,
        [rowsAtOnce],
      );
    await connection.query("SET GLOBAL innodb_max_dirty_pages_pct = 0");
    await until(
      "the server to be at rest",
      async () => {
        const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'Innodb_buffer_pool_pages_dirty'");
        return Number(rows[0]?.["Value"]) === 0;
      },
      120_000,
    );
  });
}

const handPartMb = 64;
/** Files that a copy does not contain either. */
const excluded = ["binlog.*", "#innodb_redo/*", "#ib_16384_*", "ibtmp1", "#innodb_temp/*"]
  .map((name) => `--exclude='${name}'`)
  .join(" ");

async function copyByHand(store: ObjectStore, dir: string, volume: string): Promise<number> {
  const names = Array.from({ length: 500 }, (_, index) => `by-hand/${index}`);
  const urls = await Promise.all(names.map((name) => store.presignPut(name)));
  for (const [index, url] of urls.entries()) writeFileSync(join(dir, `url-${String(index).padStart(3, "0")}`), url);
  const put = `curl -sS --fail --data-binary @- -X PUT "$(cat ${dir}/url-$FILE)"`;
  const split = `split --numeric-suffixes --suffix-length=3 --bytes=${handPartMb}M --filter='${put}' - ''`;
  const started = performance.now();
  await run(
    "bash",
    ["-o", "pipefail", "-c", `(nice tar -C ${volume} -c ${excluded} data || test $? -eq 1) | nice zstd -q | ${split}`],
    {
      maxBuffer: 1 << 24,
    },
  );
  return performance.now() - started;
}

/** The lowest memory of an idle agent, so that growth is never underestimated. */
async function leastMemory(agent: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 150; n++) {
    await sleep(100);
    // The first 5 s are its start.
    if (n >= 50) least = Math.min(least, treeMemory(agent));
  }
  return least;
}

function agentPid(state: string): number {
  const isOurs = (pid: string): boolean => {
    try {
      return (
        readFileSync(`/proc/${pid}/environ`, "latin1").includes(`MOORAGE_AGENT_DIR=${state}\0`) &&
        parentOf(pid) === process.pid
      );
    } catch {
      return false;
    }
  };
  return Number(readdirSync("/proc").find((entry) => /^\d+$/.test(entry) && isOurs(entry)));
}
const parentOf = (pid: string): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/**
 * Private memory without caches, of a process and all its descendants. A child that still runs its parent's program has
 * not called exec yet and shows all of its parent's pages: they would be counted twice.
 */
function treeMemory(pid: number, parentProgram?: string): number {
  try {
    const program = readlinkSync(`/proc/${pid}/exe`);
    if (program === parentProgram) return 0;
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const own =
      Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) + Number(/^RssShmem:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return own * 1024 + children.reduce((sum, child) => sum + treeMemory(child, program), 0);
  } catch {
    return 0; // it has ended
  }
}
