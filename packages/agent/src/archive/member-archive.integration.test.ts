import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  type ArchivedCopy,
  type Cluster,
  countMissing,
  type NodeSpec,
  parseGtidSet,
  type Recipe,
} from "@moorage/contract/agent";
import type { RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtEngine } from "../testing/agent-environment.ts";
import { type KeptArchive, keepArchive } from "../testing/kept-archive.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { until } from "../testing/test-host.ts";
import { makeThreeHosts, type ThreeHosts } from "../testing/three-hosts.ts";
import { manifestName, partName } from "./manifest.ts";

let three: ThreeHosts;
let kept: KeptArchive;
let timeline: string;
const all = [0, 1, 2] as const;

/** The copy that a task made, and the logs at the time of the restore. */
let snapshot: ArchivedCopy;
let recipe: Recipe["logs"];

beforeAll(async () => {
  three = await makeThreeHosts("moor-t-mar", { subnets: [40, 41, 42], lan: 43, port: 20_041 });
  kept = await keepArchive(three);
  timeline = kept.timeline;
  three.setDesired((index) => ({
    firewall: { sources: ["0.0.0.0/0"] },
    data: { timeline, ordinal: 0, origin: "prepared" },
    archive: kept.archiveOf(index === 2),
    cluster: { ...(three.spec(index).cluster as Cluster), ...(index === 0 && { bootstrap: timeline }) },
  }));
  await allWell();
  await write("CREATE DATABASE shop", "CREATE TABLE shop.t (a INT PRIMARY KEY)");
});
afterAll(async () => {
  await three?.close();
  await kept?.close();
});

const setArchiver = (index: number | undefined) =>
  three.setDesired((each) => ({ archive: kept.archiveOf(each === index) }));
const group = (index: number) => three.latest(index)?.group;
const allWell = () =>
  until("three healthy members", () =>
    all.every((index) => three.isReached(index) && group(index)?.shared && group(index)?.online === 3),
  );
const primary = (): number => all.findIndex((index) => group(index)?.role === "primary");

async function write(...statements: string[]): Promise<void> {
  for (const statement of statements) await three.sql(primary(), statement);
}
async function executed(index: number): Promise<string> {
  const [row] = await three.sql<{ gtid: string }>(index, "SELECT @@GLOBAL.gtid_executed AS gtid");
  return row?.gtid ?? "";
}
async function allArchived(): Promise<void> {
  const gtids = parseGtidSet(await executed(primary()));
  await until("everything in the archive", () => countMissing(gtids, kept.archived()) === 0);
}
const lastArchiver = (): number => three.hosts.findIndex(({ node }) => node === kept.logs.at(-1)?.node);
const rows = async (index: number) =>
  (await three.sql<{ a: number }>(index, "SELECT a FROM shop.t ORDER BY a")).map(({ a }) => a);

const recipeLogs = (): Promise<Recipe["logs"]> =>
  Promise.all(
    kept.logs.map(async ({ name, gtid, bytes, sha256 }) => ({
      name,
      gtid,
      bytes,
      sha256,
      identity: kept.identity,
      url: await kept.urlOf(`logs/${name}`),
    })),
  );

test("only the archiver archives, and it archives everything that the primary has", async () => {
  await write("INSERT INTO shop.t VALUES (1), (2)");
  await allArchived();
  expect(new Set(kept.logs.map(({ node }) => node))).toEqual(new Set([three.hosts[2]?.node]));
  expect(kept.logs.every(({ name }) => /^binlog\.\d{6}\.[0-9a-f]{16}$/.test(name))).toBe(true);
});

test("another archiver continues where the archive ends, with its own logs", async () => {
  const before = kept.logs.length;
  setArchiver(undefined);
  await allWell();
  await write("INSERT INTO shop.t VALUES (3)");
  setArchiver(1);
  await allArchived();
  await write("INSERT INTO shop.t VALUES (4)");
  await allArchived();

  expect(lastArchiver()).toBe(1);
  expect(kept.logs.length).toBeGreaterThan(before);
  expect(kept.refused).toEqual([]);
});

test("a re-cloned member lacks earlier logs and is refused; a member that has them continues the archive", async () => {
  setArchiver(undefined);
  await allWell();
  await write("INSERT INTO shop.t VALUES (5)");
  three.cluster((index) => (index === 1 ? { reclone: { id: randomUUID() } } : {}));
  await until("the renewal", () => !three.isReached(1) && group(1)?.state !== "online");
  await allWell();
  await write("INSERT INTO shop.t VALUES (6)");

  setArchiver(1);
  await until("the gap to be seen", () => kept.refused.length > 0);
  setArchiver(2);
  await allArchived();

  expect(lastArchiver()).toBe(2);
});

test("a copy requested by a task has everything committed before it, on any member", async () => {
  await write("INSERT INTO shop.t VALUES (7)");
  const before = await executed(primary());
  const id = randomUUID();
  const secondary = all.findIndex((index) => group(index)?.role === "secondary");
  three.setDesired((index) => (index === secondary ? { tasks: [{ id, kind: "copy" }] } : {}));
  await until("the copy", () => kept.copies.some((copy) => copy.id === id));

  snapshot = kept.copies.find((each) => each.id === id) as ArchivedCopy;
  expect(countMissing(parseGtidSet(before), parseGtidSet(snapshot.gtid))).toBe(0);
  three.setDesired(() => ({ tasks: [] }));
  await allWell();
});

test("one member restores from all archivers' logs while the group serves; the others clone from it", async () => {
  await write("INSERT INTO shop.t VALUES (8)");
  await allArchived();
  const expected = await rows(primary());
  recipe = await recipeLogs();
  await write("INSERT INTO shop.t VALUES (99)");
  const maker = three.hosts[0] as ThreeHosts["hosts"][number];
  maker.gateway.recipes.set(`${maker.node} data`, async () => ({
    point: { at: new Date().toISOString() },
    base: { kind: "prepared", sha256: builtEngine.prepared },
    logs: recipe,
  }));
  const next = randomUUID();
  const on = (index: number, origin: "archive" | "cluster", order: Partial<Cluster>): Partial<NodeSpec> => {
    const { replication, members, members_version } = three.spec(index).cluster as Cluster;
    return {
      data: { timeline: next, ordinal: 1, origin, keep: 0 },
      cluster: { replication, members, members_version, group: next, ...order },
    };
  };

  three.setDesired((index) => (index === 0 ? on(0, "archive", { bootstrap: next }) : {}));
  await until("the new data", () => three.isReached(0) && three.latest(0)?.timeline === next);
  expect(await rows(0)).toEqual(expected);
  expect(await rows(1)).toContain(99);

  three.setDesired((index) =>
    index === 0 ? on(0, "cluster", {}) : on(index, "cluster", { reclone: { id: next, donor: maker.node } }),
  );
  await allWell();
  for (const index of all) expect(await rows(index)).toEqual(expected);
  expect(all.map((index) => three.latest(index)?.timeline)).toEqual([next, next, next]);
});

test("a fork to a single node from a member's copy has its rows and no group configuration", async () => {
  const { id, gtid, parts, manifest_sha256, started_at, ended_at } = snapshot;
  const host = three.hosts[1] as ThreeHosts["hosts"][number];
  const node = randomUUID();
  host.known(node);
  const names = Array.from({ length: parts }, (_, n) => partName(id, n + 1));
  const base: Recipe["base"] = {
    kind: "copy",
    identity: kept.identity,
    gtid,
    manifest: { url: await kept.urlOf(manifestName(id)), sha256: manifest_sha256 },
    parts: await Promise.all(names.map(kept.urlOf)),
  };
  const after = recipe.filter((_, n) => (kept.logs[n]?.closed_at ?? "") >= started_at);
  host.gateway.recipes.set(`${node} data`, async () => ({ point: { at: ended_at }, base, logs: after }));
  const { cluster: _cluster, archive: _archive, ...plain } = three.spec(1);
  const fork: NodeSpec = {
    ...plain,
    node,
    generation: 1,
    uid: 200_077,
    server_id: 77,
    database: { ...plain.database, cluster_size: 1, replication_type: "none" },
    network: { address: host.address(7), port: 20_047 },
    data: { timeline: randomUUID(), ordinal: 0, origin: "archive" },
  };
  host.gateway.setDesired(three.spec(1), fork);
  await until("the fork", () => host.gateway.latest(node)?.state === "running");

  const socket = join(host.state, "nodes", node, "run", "mysqld.sock");
  const [found] = await withPatientRoot(socket, async (connection) => {
    const ofGroup = "SELECT COUNT(*) FROM mysql.user WHERE user = 'moorage_group'";
    return (await connection.query<RowDataPacket[]>(`SELECT COUNT(*) AS n, (${ofGroup}) AS users FROM shop.t`))[0];
  });
  expect(found).toEqual({ n: 8, users: 0 });
});
