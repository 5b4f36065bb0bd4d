import type { GroupReport, NodeSpec, PrimaryTerm, SavedErrantTransactions } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { activeCluster, HOME } from "#testing/active-database.ts";
import { until } from "#testing/database-on-agent.ts";
import { startObjectStore } from "#testing/object-store.ts";
import { fencePrimary, leaveTimeline, setGtid } from "#testing/simulated-following.ts";
import { simulateMember } from "#testing/simulated-group.ts";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { HOST_SILENT_SECONDS, newWorld, type World } from "#testing/world.ts";
import { texts } from "../texts.ts";
import { createLostTransactionsJob } from "./lost-transactions.ts";
import { texts as healthTexts } from "./texts.ts";
import { startPromoting } from "./promote-successors.ts";

/** An asynchronous cluster whose node 0 is primary. Its members' reports follow from their specs. */
async function asynchCluster(world: World) {
  const cluster = await watchedCluster(world, { change: { replication_type: "asynch" } });
  const silent = new Set<number>();
  const specs = async (): Promise<NodeSpec[]> =>
    (await cluster.nodes()).map(({ desired_spec }) => desired_spec as NodeSpec);
  const [first] = (await specs()) as [NodeSpec];
  const timeline = first.cluster?.group as string;
  const uuid = `${timeline.slice(0, 19)}0000-000000000000`;
  return {
    ...cluster,
    specs,
    uuid,
    timeline,
    /** All hosts that are not silent report their members, until nothing changes any more. */
    async live(): Promise<void> {
      for (let times = 0; times < 2; times++)
        for (const { host_id, desired_spec } of await cluster.nodes()) {
          if (silent.has(host_id)) continue;
          const { state = "running", ...report } = simulateMember(desired_spec as NodeSpec);
          await cluster.hosts.find(({ id }) => id === host_id)?.report(desired_spec as NodeSpec, state, report);
        }
    },
    /** The number of transactions that each of them has. */
    async have(...counts: number[]): Promise<void> {
      for (const [n, spec] of (await specs()).entries()) if (counts[n]) setGtid(spec, `${uuid}:1-${counts[n]}`);
    },
    /** The primary's server is gone, without a report of its host. */
    async lose(ordinal: number): Promise<void> {
      const spec = (await specs())[ordinal] as NodeSpec;
      leaveTimeline(timeline, spec.node);
      silent.add((await cluster.hostOf(ordinal)).id);
      await cluster.silence(ordinal);
    },
    /** By ordinal, as in all members' specs. */
    async primary(): Promise<Omit<PrimaryTerm, "node"> & { node: number }> {
      const [all, terms] = [await cluster.nodes(), (await specs()).map((spec) => spec.cluster?.primary as PrimaryTerm)];
      for (const each of terms) expect(each).toEqual(terms[0]);
      return { ...(terms[0] as PrimaryTerm), node: all.findIndex(({ id }) => id === terms[0]?.node) };
    },
    advice: async () =>
      (await world.operator.get<{ data: { advice: string }[] }>("/admin/databases")).body.data[0]?.advice,
  };
}
type AsynchCluster = Awaited<ReturnType<typeof asynchCluster>>;

/** Node 2 has more than node 1, and node 0 has ended. */
async function fenced(cluster: AsynchCluster): Promise<void> {
  await cluster.have(9, 4, 5);
  fencePrimary((await cluster.specs())[0] as NodeSpec);
  await cluster.live();
}

test("when a primary is seen to have ended, the member with the most is promoted in the same round", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  expect(await cluster.primary()).toEqual({ node: 0, term: 1, reason: "fenced" });
  await fenced(cluster);

  await cluster.after(1);

  expect(await cluster.primary()).toEqual({ node: 2, term: 2, reason: "fenced" });
  await cluster.live();
  await cluster.change(0, 2, 2, { view: `${cluster.timeline.slice(0, 8)}.2` });
  await cluster.after(6);
  expect([await cluster.status(), await cluster.checkAt(), await world.openOperations()]).toEqual(["active", null, []]);
  // The old one follows: it had no errant transactions.
  const [event, ...more] = await cluster.events("database_failover");
  expect([event?.message, more]).toEqual([expect.stringContaining("Transactions lost: 0."), []]);
  expect(await cluster.primary()).toEqual({ node: 2, term: 2, reason: "fenced" });
});

test("a former primary is not promoted over a replica of its successor, though it has more transactions", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  const { uuid } = cluster;
  const later = `${cluster.timeline.slice(0, 19)}1111-000000000000`;
  const out = { state: "offline", online: 0, shared: false, term: 1, last_term: 1 } as const;
  await cluster.reportAll(
    { ...out, state: "away", fenced: 1 },
    { ...out, gtid: `${uuid}:1-1050` },
    { ...out, gtid: `${uuid}:1-1040` },
  );
  await cluster.after(1);
  expect(await cluster.primary()).toMatchObject({ node: 1, term: 2 });

  // The former primary is back and was not compared yet when its successor ends too.
  await cluster.reportAll(
    { ...out, term: 2, fenced: 1, gtid: `${uuid}:1-1243` },
    { ...out, state: "away", term: 2, last_term: 2, fenced: 2 },
    { ...out, term: 2, last_term: 2, gtid: `${uuid}:1-1050,${later}:1-117` },
  );
  await cluster.after(1);

  expect(await cluster.primary()).toMatchObject({ node: 2, term: 3 });
});

test("a promotion happens during another operation, which continues", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  await cluster.alice.put(cluster.database.url, { allow_list: HOME });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await fenced(cluster);

  const promoting = startPromoting({ ...world, log: createLog("test", "silent"), hostSilentSeconds: 300 });
  await until(async () => (await cluster.specs()).every((spec) => spec.cluster?.primary?.term === 2));
  await promoting.close();
  expect(await cluster.primary()).toMatchObject({ node: 2, term: 2 });
  for (const { firewall } of await cluster.specs()) expect(firewall?.sources).not.toEqual([]);
  await cluster.live();

  expect(await world.openOperations()).toEqual(["applyAllowList"]);
  expect(await world.checkPhase(id, "change")).toEqual({ state: "observed" });
});

test("a primary whose host is dead is succeeded, and only then replaced", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  await cluster.have(9, 4, 5);
  const [old] = await cluster.nodes();
  await cluster.lose(0);
  await cluster.live();
  await cluster.after(31);
  expect(await cluster.primary()).toMatchObject({ node: 0, term: 1 });

  await world.operator.post(`/admin/hosts/${(await cluster.hostOf(0)).name}/dead`, {});
  await cluster.after(6);
  expect(await cluster.primary()).toEqual({ node: 2, term: 2, reason: "forced" });
  await cluster.after(6);
  expect(await world.openOperations()).toEqual([]);

  await cluster.live();
  await cluster.after(6);
  expect(await world.openOperations()).toEqual(["replaceNode"]);
  expect((await world.lastOperation()).input).toMatchObject({ node: old?.id });
});

test("a primary that is only silent stays primary, however long, with advice on what to do", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  await cluster.have(9, 4, 5);
  await cluster.lose(0);
  await cluster.live();

  await cluster.after(HOST_SILENT_SECONDS + 1);

  expect(await cluster.primary()).toEqual({ node: 0, term: 1, reason: "fenced" });
  expect([await cluster.status(), await world.openOperations()]).toEqual(["degraded", []]);
  expect((await cluster.events("database_degraded")).at(-1)?.message_code).toBe("cluster.primary_unreachable");
  expect(await cluster.advice()).toContain(`moorage admin host dead ${(await cluster.hostOf(0)).name}`);
});

test("a tenant can only promote over an unreachable primary, and must accept the stated loss", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  const promote = async (url: string, body: object = {}) => {
    const reply = await cluster.alice.post<{ errors?: { reason: string }[] }>(`${url}/promote`, body);
    return [reply.status, reply.body.errors?.[0]?.reason];
  };
  const { url } = cluster.database;
  const group = await activeCluster(world, cluster.alice, cluster.hosts);
  expect(await promote(group.url)).toEqual([400, texts.promoteElected().text]);
  expect(await promote(url, { accept_loss: true })).toEqual([400, texts.promotePrimaryServes().text]);
  await cluster.have(9, 4, 5);
  await cluster.lose(0);
  await cluster.live();
  expect(await promote(url)).toEqual([400, texts.promotePrimaryReachable().text]);

  await cluster.after(40);
  const at = new Date(world.time.now.getTime() - 40_000).toISOString().slice(0, 19);
  expect(await promote(url)).toEqual([
    400,
    texts.promoteLossNotAccepted({ primary: 0, next: 2, state: "seen", at, seconds: 40 }).text,
  ]);
  expect(await cluster.primary()).toMatchObject({ node: 0, term: 1 });

  expect(await promote(url, { accept_loss: true })).toEqual([200, undefined]);
  const [{ id: from } = {}] = await cluster.nodes();
  expect(await cluster.primary()).toEqual({ node: 2, term: 2, reason: "forced", from });
  expect((await world.audit()).filter(({ action }) => action === "promote_node")).toHaveLength(1);
});

test("a tenant can promote over a primary whose host is reachable, and whose server does not answer", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  const out = { state: "offline", online: 0, shared: false, term: 1, last_term: 1 } as const;
  await cluster.reportAll(
    { ...out, state: "away" },
    { ...out, gtid: `${cluster.uuid}:1-4` },
    { ...out, gtid: `${cluster.uuid}:1-5` },
  );
  await cluster.after(60);
  expect(await cluster.primary()).toMatchObject({ node: 0, term: 1 });

  const reply = await cluster.alice.post(`${cluster.database.url}/promote`, { accept_loss: true });

  expect(reply.status).toBe(200);
  expect(await cluster.primary()).toMatchObject({ node: 2, term: 2, reason: "forced" });
});

test("a promotion that no other host learns of within two minutes is withdrawn, and must be requested again", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  await cluster.have(9, 4, 5);
  for (const ordinal of [0, 1]) await cluster.lose(ordinal);
  await cluster.live();
  await cluster.after(40);
  const promote = () => cluster.alice.post(`${cluster.database.url}/promote`, { accept_loss: true });
  expect((await promote()).status).toBe(200);
  const nodes = await cluster.nodes();
  const waits = { state: "offline", online: 0, shared: false, gtid: `${cluster.uuid}:1-5` } as const;
  await cluster.reportMember(2, { ...waits, term: 2 });
  await cluster.after(100);
  expect(await cluster.primary()).toMatchObject({ node: 2, term: 2 });

  await cluster.after(30);

  expect(await cluster.primary()).toEqual({ node: 0, term: 3, reason: "handover", from: nodes[2]?.id });
  await cluster.after(10);
  expect((await cluster.events("database_degraded")).at(-1)?.message_code).toBe("cluster.primary_unreachable");
  await cluster.reportMember(2, { ...waits, term: 3 });
  expect((await promote()).status).toBe(200);
  expect(await cluster.primary()).toMatchObject({ node: 2, term: 4, reason: "forced" });
});

test("what only the old primary has is saved, named in one event, and deleted after seven days", async () => {
  await using store = await startObjectStore();
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  await fenced(cluster);
  await cluster.after(1);
  await cluster.live();
  const view = `${cluster.timeline.slice(0, 8)}.2`;
  for (const by of [1, 2]) await cluster.change(0, 2, by, { view });
  const errant: Partial<GroupReport> = {
    state: "offline",
    online: 0,
    shared: false,
    term: 2,
    fenced: 1,
    gtid: `${cluster.uuid}:1-9`,
    errant: `${cluster.uuid}:6-9`,
  };
  await cluster.reportMember(0, errant);
  await cluster.after(40);
  expect([await cluster.events("database_failover"), await world.openOperations()]).toEqual([[], []]);

  const saved_errant: SavedErrantTransactions = {
    name: `lost/1.${"ab".repeat(8)}`,
    gtid: `${cluster.uuid}:6-9`,
    bytes: 4,
    sha256: "c".repeat(64),
  };
  const key = `accounts/${cluster.alice.accountId}/databases/${cluster.database.id}/timelines/${cluster.timeline}/${saved_errant.name}`;
  await store.objects.put(key, "tail");
  const keptUntil = new Date(world.time.now.getTime() + 7 * 86_400_000 + 1000).toISOString().slice(0, 19);
  await cluster.reportMember(0, { ...errant, saved_errant });
  await cluster.after(1);

  const [event, ...more] = await cluster.events("database_failover");
  expect(event?.message).toContain(
    `Transactions lost: 4. The operator keeps them as ${saved_errant.name} until ${keptUntil} UTC.`,
  );
  expect(more).toEqual([]);
  const failovers = await cluster.alice.get<{ data: object[] }>(`${cluster.database.url}/failovers`);
  expect(failovers.body.data).toMatchObject([{ planned: false, transactions_lost: 4 }]);
  const lostTransactions = () =>
    world.operator.get<{ data: object[] }>(`/admin/databases/${cluster.database.id}/lost-transactions`);
  expect((await lostTransactions()).body.data).toMatchObject([
    { node: 0, transactions: 4, kept_until: keptUntil, object: key },
  ]);
  // Its member is recloned now that they are saved.
  expect(await world.openOperations()).toEqual(["replaceNode"]);

  const job = createLostTransactionsJob({ ...world, archivePurge: store.purging });
  world.time.now = new Date(world.time.now.getTime() + 7 * 86_400_000);
  await job();
  // Not while the object is the only copy.
  expect(await store.keys()).toEqual([key]);
  await cluster.reportMember(0, { state: "recovering", online: 0, shared: false, term: 2, saved_errant });
  await job();
  expect([await store.keys(), (await lostTransactions()).body.data]).toEqual([[], []]);
  await cluster.after(1);
  expect((await lostTransactions()).body.data).toEqual([]);
});

test("an operator makes the last node primary alone, once the hosts of both others are dead", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  await cluster.have(9, 4, 5);
  const bootstrap = (accept_loss: boolean) =>
    world.operator.post(`/admin/databases/${cluster.database.id}/bootstrap`, { accept_loss });
  for (const ordinal of [0, 2]) await cluster.lose(ordinal);
  await cluster.live();
  await cluster.after(31);
  expect((await bootstrap(true)).status).toBe(400);
  for (const ordinal of [0, 2])
    await world.operator.post(`/admin/hosts/${(await cluster.hostOf(ordinal)).name}/dead`, {});
  await cluster.after(6);
  expect(await cluster.primary()).toEqual({ node: 1, term: 2, reason: "forced" });
  expect((await bootstrap(false)).status).toBe(400);

  expect(await bootstrap(true)).toMatchObject({ status: 200, body: { primary: 1 } });
  expect(await cluster.primary()).toEqual({ node: 1, term: 3, reason: "sole_survivor" });
  await cluster.live();
  await cluster.after(6);
  expect(await world.openOperations()).toEqual(["replaceNode"]);
});

test("a tenant is told when the operator continues with one node, with what the backups have, until all are healthy", async () => {
  await using world = await newWorld();
  const cluster = await asynchCluster(world);
  const { uuid, timeline, database, alice } = cluster;
  const log = {
    account_id: alice.accountId,
    timeline_id: timeline,
    sequence: 1,
    name: "binlog.000001.0123456789abcdef",
  };
  await world.db
    .insertInto("binary_logs")
    .values({ ...log, bytes: 1, closed_at: world.time.now, gtid: `${uuid}:1-9`, sha256: "a".repeat(64) })
    .execute();
  await world.db.updateTable("timelines").set({ last_log: 1 }).where("id", "=", timeline).execute();
  await cluster.have(9, 4, 5);
  for (const ordinal of [0, 2]) await cluster.lose(ordinal);
  await cluster.live();
  await cluster.after(31);
  for (const ordinal of [0, 2])
    await world.operator.post(`/admin/hosts/${(await cluster.hostOf(ordinal)).name}/dead`, {});
  const at = world.time.now.toISOString().slice(0, 19);

  const reply = await world.operator.post(`/admin/databases/${database.id}/bootstrap`, { accept_loss: true });

  expect(reply).toMatchObject({ status: 200, body: { primary: 1, left_out: 5 } });
  const { code, text } = healthTexts.continuedAlone({ label: database.label, ordinal: 1, losses: [{ count: 5, at }] });
  expect((await cluster.events("database_group_form")).at(-1)).toMatchObject({
    status: "notification",
    message: text,
    message_code: code,
  });
  const notices = async () =>
    (await alice.get<{ data: { message: string }[] }>("/v4/account/notifications")).body.data.map(
      ({ message }) => message,
    );
  expect(await notices()).toContain(text);
  await cluster.live();
  await cluster.after(6);
  expect(await notices()).toContain(text);
  const view = { view: "v.9", primary: (await cluster.nodes())[1]?.id as string };
  await world.db.updateTable("hosts").set({ state: "active" }).where("state", "=", "dead").execute();
  cluster.unsilence();
  await cluster.after(0);
  await cluster.reportAll(view, view, view);
  await cluster.after(6);
  expect([await cluster.status(), await notices()]).toEqual(["active", []]);
});
