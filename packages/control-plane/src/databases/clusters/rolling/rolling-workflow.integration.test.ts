import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import type { Client } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_PLAN } from "#testing/active-database.ts";
import { clusterOnAgents } from "#testing/cluster-on-agents.ts";
import { until, untilSettled } from "#testing/database-on-agent.ts";
import { restartingMembers } from "#testing/restarting-members.ts";
import { sweep } from "#testing/sweep.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { ENGINE, newWorld, type World } from "#testing/world.ts";
import { texts } from "../../model/texts.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const NEWER = "c".repeat(64);
const LARGE = { id: "m2-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };

async function createFixture(world: World, members = restartingMembers(), reportOf = members.reportOf) {
  const [cluster, worker] = [await clusterOnAgents(world, reportOf), workerOf(world)];
  await world.operator.post("/admin/plans", LARGE);
  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: NEWER });
  return {
    ...cluster,
    ...worker,
    members,
    view: async () => (await cluster.alice.get(cluster.url)).body,
    versions: () => cluster.specs().map(({ database, engine }) => `${database.plan} ${engine.image[0]}`),
    async [Symbol.asyncDispose]() {
      await worker.end();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

/** These tests do not need a DNS server. */
const noDns = { publishDnsRecords: async () => {}, withdrawDnsRecords: async () => {} };

/** A worker that can be stopped and started again: with the same Temporal store, or with an empty one. */
function workerOf(world: World) {
  let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
  return {
    start: async (namespace?: string, instead: object = {}): Promise<Client> => {
      worker = await startWorker(world, temporal, { ...noDns, ...instead }, namespace);
      return worker.client;
    },
    /** Returns the namespace of its workflows. */
    end: async (): Promise<string | undefined> => {
      const ended = worker;
      worker = undefined;
      await ended?.[Symbol.asyncDispose]();
      return ended?.namespace;
    },
  };
}
type Fixture = Awaited<ReturnType<typeof createFixture>>;
const patch = ({ alice, url }: Fixture) => alice.post(`${url}/patch`);
const resize = ({ alice, url }: Fixture) => alice.put(url, { type: LARGE.id });

test.each([
  { name: "resize", ask: resize, after: `${LARGE.id} a` },
  { name: "patch", ask: patch, after: `${CLUSTER_PLAN} c` },
])("$name: one node after the other, the primary last, after a switchover", async ({ ask, after }) => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.start();

  await ask(fixture);
  await untilSettled(world);

  expect(await fixture.view()).toMatchObject({
    status: "active",
    updates: { pending: after.endsWith("c") ? [] : [{}] },
  });
  expect((await world.events()).at(-1)).toMatchObject({ status: "finished" });
  expect(fixture.versions()).toEqual([after, after, after]);
  expect(fixture.members.restarted()).toEqual([1, 2, 0]);
  expect(fixture.members.careless()).toEqual([]);
});

test.each([
  { ordinal: 0, ask: patch, expected: texts.patchFailed({ why: "it is broken" }) },
  { ordinal: 1, ask: patch, expected: texts.patchFailed({ why: "it is broken" }) },
  { ordinal: 2, ask: resize, expected: texts.resizeFailed({ why: "it is broken" }) },
])("node $ordinal fails: all are as before, on their hosts too", async ({ ordinal, ask, expected }) => {
  const fails = (spec: NodeSpec): string | undefined =>
    spec.ordinal === ordinal && (spec.engine.image === NEWER || spec.database.plan === LARGE.id)
      ? "it is broken"
      : undefined;
  await using world = await newWorld();
  await using fixture = await createFixture(world, restartingMembers(fails));
  await fixture.start();

  await ask(fixture);
  await untilSettled(world);

  expect(await fixture.view()).toMatchObject({ status: "active", type: CLUSTER_PLAN, updates: { pending: [{}] } });
  expect((await world.events()).at(-1)).toMatchObject({
    status: "failed",
    message: expected.text,
    message_code: expected.code,
  });
  expect(fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  expect(fixture.members.careless()).toEqual([]);
});

test.each([
  { name: "a worker that is restarted", lostStore: false },
  { name: "a Temporal that lost its store", lostStore: true },
])("$name in the middle: the change continues with the next node, and none is changed twice", async ({ lostStore }) => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.start();
  await patch(fixture);
  await until(async () => fixture.members.restarted().length > 0);
  const namespace = await fixture.end();

  const client = await fixture.start(lostStore ? undefined : namespace);
  if (lostStore) await sweep(world, client);
  await untilSettled(world);

  expect(await fixture.view()).toMatchObject({ status: "active", updates: { pending: [] } });
  expect(fixture.members.restarted()).toEqual([1, 2, 0]);
  expect(fixture.members.careless()).toEqual([]);
});

test("a switchover refused because of a backlog is tried again until it succeeds", async () => {
  await using world = await newWorld();
  const members = restartingMembers();
  let backlog_seconds = 60;
  const reportOf = (spec: NodeSpec): Partial<NodeReport> => {
    const { group, ...rest } = members.reportOf(spec);
    return { ...rest, ...(group === undefined ? {} : { group: { ...group, backlog_seconds } }) };
  };
  await using fixture = await createFixture(world, members, reportOf);
  const refused = Promise.withResolvers<void>();
  await fixture.start(undefined, {
    requestPrimary: async (...args: Parameters<World["activities"]["requestPrimary"]>) => {
      const request = await world.activities.requestPrimary(...args);
      if (request.state === "refused") refused.resolve();
      return request;
    },
  });
  await patch(fixture);
  await refused.promise;
  expect(members.restarted()).toEqual([1, 2]);

  backlog_seconds = 0;
  await untilSettled(world);

  expect(members.restarted()).toEqual([1, 2, 0]);
  expect(members.careless()).toEqual([]);
});
