import type { NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { activeCluster, reportMembers } from "#testing/active-database.ts";
import { archivedThrough, hasBackup, later } from "#testing/archive-records.ts";
import { leaveGroup } from "#testing/simulated-group.ts";
import { newWorld, type World } from "#testing/world.ts";

/** The lifecycle of one asynchronous cluster: each test continues where the previous one ended. */
let world: World;
let hosts: Awaited<ReturnType<World["host"]>>[];
let alice: Awaited<ReturnType<World["customer"]>>;
let database: Awaited<ReturnType<typeof activeCluster>>;
beforeAll(async () => {
  world = await newWorld();
  hosts = [await world.host(), await world.host(), await world.host()];
  alice = await world.customer();
  database = await activeCluster(world, alice, hosts, { replication_type: "asynch" });
});
afterAll(() => world[Symbol.asyncDispose]());

const specs = async (): Promise<NodeSpec[]> =>
  (await world.nodes())
    .filter(({ released_at }) => released_at === null)
    .sort((a, b) => a.ordinal - b.ordinal)
    .map(({ desired_spec }) => desired_spec as NodeSpec);
/** The term in all members' specs, with the ordinals of the primary and of the one that hands over. */
async function primaryTerm() {
  const desired = await specs();
  const ordinalOf = (node: string | undefined) => desired.find((spec) => spec.node === node)?.ordinal;
  const [first, ...others] = desired.map(({ cluster }) => cluster?.primary);
  for (const other of others) expect(other).toEqual(first);
  return { ...first, node: ordinalOf(first?.node), ...(first?.from ? { from: ordinalOf(first.from) } : {}) };
}
const orders = async () => (await specs()).map(({ cluster }) => [cluster?.bootstrap, cluster?.reclone]);
const none = [0, 1, 2].map(() => [undefined, undefined]);
const operation = async () => (await world.lastOperation()).id;
const report = () => reportMembers(world, hosts);
const roles = async (): Promise<unknown[]> => {
  const ids = (await specs()).map(({ node }) => node);
  const rows = await world.db.selectFrom("members").select(["node_id", "report"]).where("node_id", "in", ids).execute();
  return ids.map((id) => rows.find(({ node_id }) => node_id === id)?.report?.role);
};
/** Lets time pass while all hosts poll. */
const passed = async (seconds: number): Promise<void> => {
  later(world, seconds);
  await world.db.updateTable("host_leases").set({ seen_at: world.time.now }).execute();
};

test("its first node is primary in the first term, and nobody may bootstrap", async () => {
  expect(await primaryTerm()).toEqual({ node: 0, term: 1, reason: "fenced" });
  expect(await orders()).toEqual(none);
  expect(await roles()).toEqual(["primary", "secondary", "secondary"]);
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", replication_type: "asynch" });
  await world.activities.setDesiredNodes(await operation());
  expect(await primaryTerm()).toMatchObject({ term: 1 });
});

test("suspended and resumed, the same node is primary in the same term, and nobody may bootstrap", async () => {
  await alice.post(`${database.url}/suspend`);
  await world.activities.applyChange(await operation());
  await report();
  await world.activities.endChange(await operation(), { done: true });
  await alice.post(`${database.url}/resume`);
  const id = await operation();

  expect(await world.activities.applyChange(id)).toBe("requested out of group");
  expect(await world.activities.advanceBootstrap(id)).toEqual({ next: "wait" });
  expect(await orders()).toEqual(none);
  await report();
  expect(await world.activities.advanceBootstrap(id)).toEqual({ next: "bootstrapped" });

  await world.activities.endChange(id, { done: true });
  expect([await primaryTerm(), await orders()]).toEqual([{ node: 0, term: 1, reason: "fenced" }, none]);
});

test("a switchover makes another node primary in a higher term, by a handover that is then confirmed", async () => {
  await alice.post(`${database.url}/switchover`);
  const id = await operation();

  expect(await world.activities.requestPrimary(id, "switch 1")).toMatchObject({ state: "requested" });
  expect(await primaryTerm()).toEqual({ node: 1, term: 2, reason: "handover", from: 0 });
  await world.activities.requestPrimary(id, "switch 1");
  expect(await primaryTerm()).toMatchObject({ term: 2 });
  expect(await world.activities.checkPrimary(id, "switch 1")).toBe(false);
  await report();
  expect(await world.activities.checkPrimary(id, "switch 1")).toBe(true);
  await world.activities.endPrimaryRequest(id, "switch 1");
  await world.activities.endChange(id, { done: true });

  expect(await primaryTerm()).toEqual({ node: 1, term: 2, reason: "fenced" });
  await report();
  expect(await roles()).toEqual(["secondary", "primary", "secondary"]);
});

test("a failed handover goes back once, in a higher term, and the next one works", async () => {
  await alice.post(`${database.url}/switchover`);
  const id = await operation();
  await world.activities.requestPrimary(id, "switch 1");
  expect(await primaryTerm()).toEqual({ node: 0, term: 3, reason: "handover", from: 1 });

  await world.activities.endPrimaryRequest(id, "switch 1");
  await world.expire(id);

  expect(await primaryTerm()).toEqual({ node: 1, term: 4, reason: "handover", from: 0 });
  expect(await world.lastOperation()).toMatchObject({ outcome: "failed" });
  await report();
  expect(await roles()).toEqual(["secondary", "primary", "secondary"]);
  await world.run("clusterHealth");
  expect(await primaryTerm()).toEqual({ node: 1, term: 4, reason: "fenced" });
});

test("a new primary whose host is unreachable cannot hand back, and stays desired", async () => {
  await report();
  await alice.post(`${database.url}/switchover`);
  const id = await operation();
  await world.activities.requestPrimary(id, "switch 1");
  later(world, 40);

  await world.expire(id);

  expect(await primaryTerm()).toEqual({ node: 0, term: 5, reason: "handover", from: 1 });
  await passed(0);
  await report();
  expect(await roles()).toEqual(["primary", "secondary", "secondary"]);
  await world.run("clusterHealth");
  expect(await primaryTerm()).toEqual({ node: 0, term: 5, reason: "fenced" });
});

test("the primary restores, and the others clone from it", async () => {
  await alice.post(`${database.url}/switchover`);
  const switchover = await operation();
  await world.activities.requestPrimary(switchover, "switch 1");
  await report();
  await world.activities.endChange(switchover, { done: true });
  expect(await primaryTerm()).toEqual({ node: 1, term: 6, reason: "fenced" });
  const backup = await hasBackup(world, database);
  await passed(60);
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const id = await operation();

  await world.activities.setRestoredTimeline(id);
  expect((await specs()).map(({ data }) => data?.origin)).toEqual(["prepared", "archive", "prepared"]);
  await report();
  expect(await world.checkPhase(id, "restored")).toEqual({ state: "observed" });
  await world.activities.recloneMembers(id);

  const [, made] = await specs();
  const reclone = { id: made?.data?.timeline, donor: made?.node };
  expect((await specs()).map(({ cluster }) => [cluster?.bootstrap, cluster?.reclone])).toEqual([
    [undefined, reclone],
    [undefined, undefined],
    [undefined, reclone],
  ]);
  const archivers = (await specs()).map(({ archive }) => archive?.archiver !== false);
  expect(archivers).toEqual([false, true, false]);
  await report();
  expect(await world.checkPhase(id, "recloned")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });
  expect([await primaryTerm(), await orders()]).toEqual([{ node: 1, term: 6, reason: "fenced" }, none]);
});

test("undeleted, the first of its new nodes is primary in a term that no host has known", async () => {
  await archivedThrough(world, database);
  await passed(5);
  const before = await specs();
  await alice.delete(database.url);
  const deletion = await operation();
  await world.activities.setTombstones(deletion);
  await report();
  await world.activities.endChange(deletion, { done: true });
  for (const { node, cluster } of before) leaveGroup(cluster?.group as string, node);

  await world.operator.post(`/admin/databases/${database.id}/undelete`, {});
  await passed(0);
  expect(await world.activities.setDesiredNodes(await operation())).toBe("requested");

  expect(await primaryTerm()).toEqual({ node: 0, term: 7, reason: "fenced" });
  const [first] = await specs();
  const reclone = { id: first?.data?.timeline, donor: first?.node };
  expect(await orders()).toEqual([
    [undefined, undefined],
    [undefined, reclone],
    [undefined, reclone],
  ]);
  expect((await specs()).map(({ data }) => data?.origin)).toEqual(["archive", "cluster", "cluster"]);
});
