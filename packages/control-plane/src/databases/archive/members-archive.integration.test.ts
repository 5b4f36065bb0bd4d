import { randomUUID } from "node:crypto";
import type { ArchivedReply, NodeSpec, UploadsReply } from "@moorage/contract/agent";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { sha256 } from "#platform/sha256.ts";
import { activeClusterOnAgents } from "#testing/active-database.ts";
import { hasBackup, later, timelinesOf } from "#testing/archive-records.ts";
import { startGateway } from "#testing/gateway.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";
import { continueWith } from "./archive-end.ts";
import { createArchiversJob } from "./choose-archiver.ts";
import { loadHistory } from "./history-store.ts";
import { planRestore } from "./recipe.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

/** An active database of three nodes, on hosts whose agents use a real object store. */
async function createFixture(world: World, change: object = {}) {
  const gateway = await startGateway(world, { objects: store.objects });
  const hosts = [await gateway.enrolledHost(), await gateway.enrolledHost(), await gateway.enrolledHost()];
  const agents = hosts.map((host) => simulateAgent(gateway, host));
  for (const agent of agents) await agent.poll();
  const alice = await world.customer();
  const database = await activeClusterOnAgents(world, alice, agents, change);
  const poll = async () => {
    for (const agent of agents) await agent.poll();
  };
  await poll();
  const nodes = async () => (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal);
  type Node = Awaited<ReturnType<typeof nodes>>[number];
  /** Polls without the hosts of these nodes. Twice: the first to poll may have waited for the other. */
  const pollWithout = async (...away: (Node | undefined)[]) => {
    const others = agents.filter((_, at) => !away.some((node) => node?.host_id === hosts[at]?.id));
    for (const agent of [...others, ...others]) await agent.poll();
  };
  const specs = async (): Promise<NodeSpec[]> => (await nodes()).map(({ desired_spec }) => desired_spec as NodeSpec);
  const timeline = (await specs())[0]?.data?.timeline as string;
  const call = async <Body = Record<string, unknown>>(ordinal: number, path: string, message: object) => {
    const node = (await nodes())[ordinal];
    const host = hosts.find(({ id }) => id === node?.host_id);
    if (node === undefined || host === undefined) throw new Error(`There is no node ${ordinal}.`);
    return gateway.post<Body>(host, path, message);
  };
  const reportArchived = async (ordinal: number, report: object) =>
    call<ArchivedReply>(ordinal, "/v1/archived", {
      nodes: [{ node: (await nodes())[ordinal]?.id, timeline, ...report }],
    });
  const job = createArchiversJob({ ...world, log: createLog("test", "silent") });
  const archiver = async () => (await specs()).findIndex(({ archive }) => archive?.archiver !== false);
  return {
    gateway,
    agents,
    hosts,
    alice,
    database,
    timeline,
    poll,
    pollWithout,
    nodes,
    specs,
    call,
    reportArchived,
    job,
    archiver,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** A member's log: transactions of the group from the one after `from` to `to`. */
const log = (world: World, timeline: string, number: number, from: number, to: number) => ({
  name: `binlog.${String(number).padStart(6, "0")}.${randomUUID().replaceAll("-", "").slice(0, 16)}`,
  sequence: number,
  previous: from === 0 ? "" : `${timeline}:1-${from}`,
  gtid: `${timeline}:1-${to}`,
  closed_at: new Date(world.time.now.getTime() + to * 1000).toISOString(),
  bytes: 3,
  sha256: "a".repeat(64),
});
const logsOf = (world: World) => world.db.selectFrom("binary_logs").selectAll().orderBy("sequence").execute();
const missing = { status: 400 };

test("one secondary is the archiver; the others get no addresses for logs", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const upload = async (ordinal: number, name: string) =>
    fixture.call(ordinal, "/v1/uploads", {
      node: (await fixture.nodes())[ordinal]?.id,
      timeline: fixture.timeline,
      names: [name],
    });
  const name = "logs/binlog.000001.0123456789abcdef";

  expect((await fixture.specs()).map(({ archive }) => archive?.archiver)).toEqual([false, false, undefined]);
  expect(await upload(2, name)).toMatchObject({ status: 200 });
  expect(await upload(1, name)).toMatchObject({ status: 404 });
  expect(await upload(1, `copies/${randomUUID()}/manifest.json`)).toMatchObject({ status: 200 });
});

test("a new archiver continues where the previous one ended: no gaps, and duplicates count once", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { timeline, reportArchived } = fixture;
  const member = (number: number, from: number, to: number) => log(world, timeline, number, from, to);

  await reportArchived(2, { logs: [member(7, 0, 3), member(8, 3, 5)] });
  // Its own logs have other numbers and end at other transactions.
  expect(await reportArchived(1, { logs: [member(2, 6, 9)] })).toMatchObject(missing);
  const { body } = await reportArchived(1, {});
  expect(body.nodes).toMatchObject([{ timeline, gtid: `${timeline}:1-5` }]);
  await reportArchived(1, { logs: [member(1, 2, 4), member(2, 4, 9)] });

  expect((await logsOf(world)).map(({ sequence, gtid }) => [sequence, gtid])).toEqual([
    [1, `${timeline}:1-3`],
    [2, `${timeline}:1-5`],
    [3, `${timeline}:1-9`],
  ]);
});

test("a log that is reported again is the same one, with what was uploaded last", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const first = log(world, fixture.timeline, 1, 0, 3);
  await fixture.reportArchived(2, { logs: [first] });
  await fixture.reportArchived(2, { logs: [{ ...first, sha256: "b".repeat(64) }] });
  expect(await logsOf(world)).toMatchObject([{ sequence: 1, sha256: "b".repeat(64) }]);
});

test("an asynchronous cluster does not archive what came from a former primary: it may be lost", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { timeline, reportArchived } = fixture;
  const setTerm = (term: number) =>
    world.db
      .updateTable("nodes")
      .set({
        desired_spec: sql`jsonb_set(desired_spec, '{cluster,primary}', ${JSON.stringify({ ...primary, term })}::jsonb)`,
      })
      .execute();
  const primary = { node: (await fixture.nodes())[0]?.id, reason: "fenced" };
  const logs = [log(world, timeline, 1, 0, 3)];

  await setTerm(2);
  for (const report of [{ logs }, { logs, term: 1 }, { through: new Date().toISOString(), term: 1 }])
    expect(await reportArchived(2, report)).toMatchObject({ status: 400 });
  expect(await reportArchived(2, {})).toMatchObject({ body: { nodes: [{ gtid: "" }] } });
  expect(await reportArchived(2, { logs, term: 2 })).toMatchObject({ body: { nodes: [{ gtid: `${timeline}:1-3` }] } });
});

test("a member that lacks the next log gives way to another; there is a gap only when all lack it", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { timeline, reportArchived, job, archiver } = fixture;
  await reportArchived(2, { logs: [log(world, timeline, 1, 0, 3)] });

  expect(await reportArchived(2, { logs: [log(world, timeline, 9, 5, 8)] })).toMatchObject(missing);
  await job();
  expect(await archiver()).toBe(1);
  for (const ordinal of [1, 0]) {
    expect(await reportArchived(ordinal, { logs: [log(world, timeline, 9, 5, 8)] })).toMatchObject(missing);
    await job();
  }
  await reportArchived(await archiver(), { logs: [log(world, timeline, 9, 5, 8)] });

  expect((await logsOf(world)).map(({ sequence }) => sequence)).toEqual([1, 3]);
  expect(await reportArchived(await archiver(), { logs: [log(world, timeline, 11, 10, 12)] })).toMatchObject(missing);
});

test("no restore crosses an archive branch: each history is restored by itself", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { timeline, reportArchived, timeOf } = { ...fixture, timeOf: (to: number) => new Date(begun + to * 1000) };
  const begun = world.time.now.getTime();
  const member = (number: number, from: number, to: number) => log(world, timeline, number, from, to);
  const planned = async (until: Date) => {
    const history = await loadHistory(world.db, timeline);
    const { base, logs } = planRestore(history, { timeline, until });
    return [base.kind === "copy" ? base.copy.id : base.kind, ...logs.map((each) => each.log.sequence)];
  };
  /** A copy of what the members had then. */
  const copy = async (to: number, at: Date) => {
    const made = { id: randomUUID(), started_at: at.toISOString(), ended_at: at.toISOString() };
    const manifest = Buffer.from(made.id);
    const { body } = await fixture.call<UploadsReply>(1, "/v1/uploads", {
      node: (await fixture.nodes())[1]?.id,
      timeline,
      names: [`copies/${made.id}/manifest.json`],
    });
    await fetch(body.urls[0] ?? "", { method: "PUT", body: manifest });
    const sum = sha256(manifest).toString("hex");
    await reportArchived(1, {
      copies: [{ ...made, gtid: `${timeline}:1-${to}`, bytes: 1, parts: 1, manifest_sha256: sum }],
    });
    return made.id;
  };
  await reportArchived(2, { logs: [member(7, 0, 3), member(8, 3, 9)] });
  const old = await copy(9, timeOf(9));
  const goOn = (acceptsLoss: boolean) =>
    world.db
      .transaction()
      .execute((tx) => continueWith(tx, timeline, `${timeline}:1-5`, { acceptsLoss, at: world.time.now }));

  expect(await goOn(false)).toEqual({ leftOut: 4, refused: true });
  expect((await reportArchived(1, {})).body.nodes).toMatchObject([{ gtid: `${timeline}:1-9` }]);
  expect(await goOn(true)).toEqual({ leftOut: 4, refused: false });
  expect((await reportArchived(1, {})).body.nodes).toEqual([
    { node: expect.any(String), timeline, gtid: `${timeline}:1-5` },
  ]);

  await copy(4, timeOf(10)); // // of a member that lacked something then
  // Its transactions from 6 to 9 differ from those that were archived before.
  expect(await reportArchived(1, { logs: [member(2, 3, 15), member(3, 15, 20)] })).toMatchObject({ status: 200 });
  expect((await logsOf(world)).map(({ sequence }) => sequence)).toEqual([1, 2, 4, 5]);
  await expect(planned(timeOf(19))).rejects.toThrow("can be restored to a time from");

  const first = await copy(5, timeOf(12));
  expect(await planned(timeOf(19))).toEqual([first, 4, 5]);
  expect((await reportArchived(1, {})).body.nodes).toMatchObject([{ newest_copy: timeOf(12).toISOString() }]);
  expect(await planned(timeOf(8))).toEqual(["prepared", 1, 2]);
  expect((await loadHistory(world.db, timeline)).copies.map(({ id }) => id)).toContain(old);
  expect(await goOn(true)).toMatchObject({ leftOut: 15 });
});

test("when the archiver's host is silent, another member takes over in one step for all members", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const before = (await fixture.specs()).map(({ generation }) => generation);

  later(world, 50);
  for (const agent of fixture.agents.slice(0, 2)) await agent.poll();
  await fixture.job();
  expect(await fixture.archiver()).toBe(2);
  later(world, 20);
  for (const agent of fixture.agents.slice(0, 2)) await agent.poll();
  await fixture.job();

  const specs = await fixture.specs();
  expect(specs.map(({ archive }) => archive?.archiver)).toEqual([false, undefined, false]);
  expect(specs.map(({ generation }, n) => generation - (before[n] ?? 0))).toEqual([0, 1, 1]);
});

test("before a fork or a deletion only the archiver is requested to ship", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.alice.create({
    type: "m2-medium",
    cluster_size: 3,
    fork: { source: fixture.database.id },
  });
  const { id } = await world.lastOperation();

  expect(await world.activities.shipSource(id)).toBe("requested");

  const jobs = (await fixture.specs()).slice(0, 3).map((spec) => (spec.tasks ?? []).map(({ kind }) => kind));
  expect(jobs).toEqual([[], [], ["ship"]]);
  await fixture.poll();
  expect(await world.checkPhase(id, "ship")).toEqual({ state: "observed" });
});

test.each([
  ["primary", 0],
  ["secondary", 2],
])("a snapshot of the %s is a copy of that one", async (target, ordinal) => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.alice.post(`${fixture.database.url}/backups`, { label: "before", target });
  const { id } = await world.lastOperation();

  await world.activities.requestCopy(id);
  const jobs = (await fixture.specs()).map((spec) => (spec.tasks ?? []).length);
  expect(jobs.indexOf(1)).toBe(ordinal);
  await fixture.poll();
  expect(await world.checkPhase(id, "copy")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });

  expect((await fixture.specs()).flatMap((spec) => spec.tasks ?? [])).toEqual([]);
  expect((await fixture.alice.get(`${fixture.database.url}/backups`)).body).toMatchObject({ results: 1 });
});

test("one member restores while the others serve, then they clone from it, and it is the first archiver", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { alice, database, timeline: old } = fixture;
  const backup = await hasBackup(world, database);
  later(world, 60);
  await fixture.poll();
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const { id } = await world.lastOperation();
  const restored = (await timelinesOf(world, database))[1]?.id as string;
  const seen = async () =>
    (await fixture.specs()).map(({ data, cluster, archive }) => ({
      timeline: data?.timeline,
      origin: data?.origin,
      keep: data?.keep,
      group: cluster?.group,
      bootstrap: cluster?.bootstrap,
      reclone: cluster?.reclone?.id,
      donor: cluster?.reclone?.donor,
      archiver: archive?.archiver,
    }));
  const [first] = await fixture.nodes();

  await world.activities.setRestoredTimeline(id);
  const [maker, ...others] = await seen();
  expect(maker).toEqual({
    timeline: restored,
    origin: "archive",
    keep: 0,
    group: restored,
    bootstrap: restored,
    reclone: undefined,
    donor: undefined,
    archiver: undefined,
  });
  expect(others.map(({ timeline }) => timeline)).toEqual([old, old]);
  await fixture.poll();
  expect(await world.checkPhase(id, "restored")).toEqual({ state: "observed" });

  expect(await world.activities.recloneMembers(id)).toBe("requested");
  const recloned = { timeline: restored, origin: "cluster", keep: 0, group: restored, bootstrap: undefined };
  const taken = { ...recloned, reclone: restored, donor: first?.id, archiver: false };
  expect(await seen()).toEqual([
    { ...recloned, reclone: undefined, donor: undefined, archiver: undefined },
    taken,
    taken,
  ]);
  await fixture.poll();
  expect(await world.checkPhase(id, "recloned")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(await seen()).toMatchObject([{ keep: undefined }, { reclone: undefined }, { origin: "cluster" }]);
  // Once it has archived something, a secondary takes over.
  await fixture.poll();
  await fixture.job();
  expect(await fixture.archiver()).toBe(0);
  await world.db.updateTable("timelines").set({ last_log: 1 }).where("id", "=", restored).execute();
  await fixture.job();
  expect(await fixture.archiver()).toBe(2);
});

test("a restore continues without a member whose host is away, which gets the new timeline at the end", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { alice, database, timeline: old } = fixture;
  const backup = await hasBackup(world, database);
  const first = (await fixture.nodes())[0];
  const pollOthers = () => fixture.pollWithout(first);
  later(world, 60);
  await pollOthers();
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const { id } = await world.lastOperation();
  const restored = (await timelinesOf(world, database))[1]?.id as string;
  const timelines = async () => (await fixture.specs()).map(({ data }) => data?.timeline);

  await world.activities.setRestoredTimeline(id);
  expect(await timelines()).toEqual([old, restored, old]);
  expect((await fixture.specs())[1]).toMatchObject({ data: { origin: "archive" }, cluster: { bootstrap: restored } });
  await pollOthers();
  expect(await world.checkPhase(id, "restored")).toEqual({ state: "observed" });
  await world.activities.recloneMembers(id);
  expect(await timelines()).toEqual([old, restored, restored]);
  await pollOthers();
  expect(await world.checkPhase(id, "recloned")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });

  expect(await world.lastOperation()).toMatchObject({ outcome: "done" });
  const specs = await fixture.specs();
  expect(specs.map(({ data }) => data)).toEqual(
    [0, 1, 2].map(() => ({ timeline: restored, ordinal: 1, origin: "cluster" })),
  );
  expect(specs.map(({ cluster }) => [cluster?.bootstrap, cluster?.reclone])).toEqual(
    [0, 1, 2].map(() => [undefined, undefined]),
  );
  expect(specs.findIndex(({ archive }) => archive?.archiver !== false)).toBe(1);
});

test("a restore does not wait for a host that went away after the request, but waits for a slow one", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const backup = await hasBackup(world, fixture.database);
  const [, other, last] = await fixture.nodes();
  await fixture.alice.post(`${fixture.database.url}/backups/${backup.id}/restore`);
  const { id } = await world.lastOperation();
  const restored = (await timelinesOf(world, fixture.database))[1]?.id as string;
  await world.activities.setRestoredTimeline(id);
  await fixture.poll();
  await world.activities.recloneMembers(id);

  await fixture.pollWithout(last);
  expect(await world.activities.checkRecloned(id), "the last is slow").toEqual({ state: "pending" });
  later(world, 60);
  await fixture.pollWithout(other, last);
  expect(await world.activities.checkRecloned(id), "both others are away").toEqual({ state: "pending" });
  await fixture.pollWithout(last);
  expect(await world.activities.checkRecloned(id), "the last is away").toEqual({ state: "observed" });
  // The host may be reachable again before this is settled, without having done anything.
  const now = world.time.now.toISOString();
  await fixture.call(2, "/v1/desired", { agent: "test", epoch: 0, revision: 0, boot: "b", now, trash_mb: 0 });
  expect(await world.activities.checkRecloned(id), "the last is back").toEqual({ state: "pending" });
  await world.activities.endChange(id, { done: true });

  expect(await world.lastOperation()).toMatchObject({ outcome: "done" });
  expect((await fixture.specs()).map(({ data }) => data?.timeline)).toEqual([restored, restored, restored]);
});

test("with a dead primary another asynchronous node restores and is primary, unless the restore fails", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world, { replication_type: "asynch" });
  const backup = await hasBackup(world, fixture.database);
  const [dead, next] = await fixture.nodes();
  later(world, 60);
  await fixture.pollWithout(dead);
  await world.operator.post(`/admin/hosts/${(await world.hostRow(dead?.host_id as number)).name}/dead`, {});
  await fixture.alice.post(`${fixture.database.url}/backups/${backup.id}/restore`);
  const { id } = await world.lastOperation();
  const primaryIn = async (at: number) => (await fixture.specs())[at]?.cluster?.primary;
  const before = (await primaryIn(0))?.term as number;

  await world.activities.setRestoredTimeline(id);
  expect((await fixture.specs()).map(({ data }) => data?.origin)).toEqual(["prepared", "archive", "prepared"]);
  expect(await primaryIn(1)).toEqual({ node: next?.id, term: before + 1, reason: "sole_survivor" });
  await world.activities.recloneMembers(id);
  expect(await primaryIn(2)).toEqual({ node: next?.id, term: before + 1, reason: "sole_survivor" });

  await world.activities.setPreviousTimeline(id);
  expect(await primaryIn(1)).toEqual({ node: dead?.id, term: before + 2, reason: "fenced" });
  await world.activities.endChange(id, { done: false });
  expect(await primaryIn(2)).toEqual({ node: dead?.id, term: before + 2, reason: "fenced" });
});

test("a restore waits for all members while two hosts are away: they could continue with the old data", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const backup = await hasBackup(world, fixture.database);
  const last = (await fixture.nodes())[2];
  later(world, 60);
  await fixture.agents[fixture.hosts.findIndex(({ id }) => id === last?.host_id)]?.poll();
  await fixture.alice.post(`${fixture.database.url}/backups/${backup.id}/restore`);
  const { id } = await world.lastOperation();

  await world.activities.setRestoredTimeline(id);

  const timelines = (await fixture.specs()).map(({ data }) => data?.timeline === fixture.timeline);
  expect(timelines).toEqual([false, true, true]);
  expect(await world.checkPhase(id, "restored")).toEqual({ state: "pending" });
});

test("a restore that its member cannot make leaves the others as they were", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const backup = await hasBackup(world, fixture.database);
  await fixture.alice.post(`${fixture.database.url}/backups/${backup.id}/restore`);
  const { id } = await world.lastOperation();
  const before = (await fixture.specs()).slice(1);
  await world.activities.setRestoredTimeline(id);

  await world.activities.setPreviousTimeline(id);
  await fixture.poll();
  await world.activities.endChange(id, { done: false });

  const after = await fixture.specs();
  expect(after.map(({ data }) => data?.timeline)).toEqual([fixture.timeline, fixture.timeline, fixture.timeline]);
  expect(after.map(({ cluster }) => cluster?.group)).toEqual([fixture.timeline, fixture.timeline, fixture.timeline]);
  expect(after.slice(1).map(({ archive }) => archive)).toEqual(before.map(({ archive }) => archive));
  expect((await fixture.alice.get(fixture.database.url)).body).toMatchObject({ status: "active" });
});
