import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "@moorage/testkit/until.ts";
import { createConnection } from "mysql2/promise";
import { inParts } from "../../tools/stack/paths.ts";
import { hostDir } from "../kit/host.ts";
import { nodesOf } from "../kit/records.ts";
import { tenant } from "../kit/tenant.ts";
import { cpuByPart, minus } from "./cpu.ts";

const run = promisify(execFile);
const ROUNDS = 8;
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Create to `active`, alternating with its raw floor, and the control plane's CPU time for it by process. */
export async function benchProvision(): Promise<boolean> {
  const alice = tenant();
  const warm = await alice.createSurely(`bench-${Date.now()}`);
  await alice.untilStatus(warm.id, "active");
  const config = await nodeConfig(warm.id);

  const floors: number[] = [];
  const creates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    floors.push(await rawFloor(config));
    const started = performance.now();
    const { body } = await alice.create(`bench-${Date.now()}`);
    await alice.untilStatus(body.id, "active");
    creates.push(performance.now() - started);
    await remove(body.id);
  }
  await remove(warm.id);
  const ratio = median(creates.map((ms, round) => ms / (floors[round] as number)));
  print("raw floor, ms", floors);
  print("create to active, ms", creates);
  console.log(`median ratio ${ratio.toFixed(2)} (goal: at most 2.0)`);

  const cpu = await cpuOfProvision();
  return ratio <= 2 && cpu <= 0.5;

  async function remove(id: number): Promise<void> {
    await alice.deleteSurely(id);
    await alice.untilEvent(id, "database_delete");
  }
}

export const print = (what: string, values: readonly number[]): void =>
  console.log(`${what}: ${values.map((value) => Math.round(value)).join(" ")}, median ${Math.round(median(values))}`);

/** The minimum work for this database: unpack the prepared directory and start the server on it. */
export async function rawFloor(config: string): Promise<number> {
  const engine = inParts("engines", "mysql");
  const rootfs = join(engine, "rootfs");
  const folder = mkdtempSync(join(rootfs, "tmp", "floor-"));
  const inside = folder.slice(rootfs.length);
  try {
    const started = performance.now();
    await run("tar", ["--zstd", "-xf", join(engine, "prepared.tar.zst"), "-C", folder]);
    mkdirSync(join(folder, "tmp"));
    writeFileSync(join(folder, "my.cnf"), movedTo(config, inside));
    await run("chown", ["-R", "999:999", folder]);
    const server = spawn(
      "chroot",
      ["--userspec=999:999", rootfs, "/usr/sbin/mysqld", `--defaults-file=${inside}/my.cnf`],
      {
        stdio: "ignore",
      },
    );
    try {
      await until("the server answers", 60, async () => {
        const connection = await createConnection({ socketPath: join(folder, "mysqld.sock"), user: "root" });
        await connection.query("select 1");
        await connection.end();
        return true;
      });
      return performance.now() - started;
    } finally {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      if (server.kill("SIGKILL")) await ended;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The node's own settings, in a folder of this machine. */
const movedTo = (config: string, folder: string): string =>
  config
    .replaceAll("/volume/", `${folder}/`)
    .replaceAll("/run/mysqld/", `${folder}/`)
    .replace(/^bind_address = .*$/m, "bind_address = 127.0.0.1")
    .replace(/^port = .*$/m, "port = 19306")
    .replace(/^container_aware = .*$/m, "");

export async function nodeConfig(id: number): Promise<string> {
  const [node] = await nodesOf(id);
  if (node === undefined) throw new Error("no node");
  return readFileSync(join(hostDir(Number(node.host.replace("host-", ""))), "nodes", node.id, "my.cnf"), "utf8");
}

/** The processes' CPU time for ten provisions, minus their idle use in the same time. */
async function cpuOfProvision(): Promise<number> {
  const count = 10;
  const alice = tenant();
  const made: number[] = [];
  const before = cpuByPart();
  const started = performance.now();
  for (let n = 0; n < count; n++) {
    const { body } = await alice.create(`cpu-${n}-${Date.now()}`);
    await until("active", 60, async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return (await alice.view(body.id)).body.status === "active";
    });
    made.push(body.id);
  }
  const busyMs = performance.now() - started;
  const busy = minus(cpuByPart(), before);
  const quiet = cpuByPart();
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const idle = minus(cpuByPart(), quiet);
  let total = 0;
  for (const [part, seconds] of Object.entries(busy)) {
    const each = (seconds - ((idle[part] ?? 0) * busyMs) / 10_000) / count;
    total += each;
    console.log(
      `CPU of a provision, ${part.padEnd(9)} ${(each * 1000).toFixed(0).padStart(5)} ms (idle ${(((idle[part] ?? 0) / 10) * 100).toFixed(1)} % of a core)`,
    );
  }
  console.log(`CPU of a provision, in all    ${(total * 1000).toFixed(0).padStart(5)} ms (goal: at most 500)`);
  for (const id of made) await alice.deleteSurely(id);
  for (const id of made) await alice.untilEvent(id, "database_delete", 120);
  return total;
}
