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

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const NEWER = "c".repeat(64);
const LARGE = { id: "m2-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };

async function staged(world: World, members = restartingMembers(), said = members.said) {
  const [cluster, worker] = [await clusterOnAgents(world, said), workerOf(world)];
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

/** The name server has no part in these. */
const names = { publishNames: async () => {}, withdrawNames: async () => {} };

/** A worker that can be ended, and begun again: with the same store of Temporal, or with an empty one. */
function workerOf(world: World) {
  let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
  return {
    begin: async (namespace?: string, instead: object = {}): Promise<Client> => {
      worker = await startWorker(world, temporal, { ...names, ...instead }, namespace);
      return worker.client;
    },
    /** Returns where its workflows are. */
    end: async (): Promise<string | undefined> => {
      const ended = worker;
      worker = undefined;
      await ended?.[Symbol.asyncDispose]();
      return ended?.namespace;
    },
  };
}
type Stage = Awaited<ReturnType<typeof staged>>;
const patch = ({ alice, url }: Stage) => alice.post(`${url}/patch`);
const resize = ({ alice, url }: Stage) => alice.put(url, { type: LARGE.id });

test.each([
  { name: "resize", ask: resize, after: `${LARGE.id} a` },
  { name: "patch", ask: patch, after: `${CLUSTER_PLAN} c` },
])("$name: one node after the other, and the primary is the last, when another leads", async ({ ask, after }) => {
  await using world = await newWorld();
  await using stage = await staged(world);
  await stage.begin();

  await ask(stage);
  await untilSettled(world);

  expect(await stage.view()).toMatchObject({ status: "active", updates: { pending: after.endsWith("c") ? [] : [{}] } });
  expect((await world.events()).at(-1)).toMatchObject({ status: "finished" });
  expect(stage.versions()).toEqual([after, after, after]);
  expect(stage.members.restarted()).toEqual([1, 2, 0]);
  expect(stage.members.careless()).toEqual([]);
});

test.each([
  { ordinal: 0, ask: patch, said: "runs as before it: it is broken" },
  { ordinal: 1, ask: patch, said: "runs as before it: it is broken" },
  { ordinal: 2, ask: resize, said: "keeps the type that it had: it is broken" },
])("node $ordinal fails: all are as before, on their hosts too", async ({ ordinal, ask, said }) => {
  const fails = (spec: NodeSpec): string | undefined =>
    spec.ordinal === ordinal && (spec.engine.image === NEWER || spec.database.plan === LARGE.id)
      ? "it is broken"
      : undefined;
  await using world = await newWorld();
  await using stage = await staged(world, restartingMembers(fails));
  await stage.begin();

  await ask(stage);
  await untilSettled(world);

  expect(await stage.view()).toMatchObject({ status: "active", type: CLUSTER_PLAN, updates: { pending: [{}] } });
  expect((await world.events()).at(-1)).toMatchObject({ status: "failed", message: expect.stringContaining(said) });
  expect(stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  expect(stage.members.careless()).toEqual([]);
});

test.each([
  { name: "a worker that is restarted", lostStore: false },
  { name: "a Temporal that lost its store", lostStore: true },
])("$name in the middle: it goes on with the next node, and none is done twice", async ({ lostStore }) => {
  await using world = await newWorld();
  await using stage = await staged(world);
  await stage.begin();
  await patch(stage);
  await until(async () => stage.members.restarted().length > 0);
  const namespace = await stage.end();

  const client = await stage.begin(lostStore ? undefined : namespace);
  if (lostStore) await sweep(world, client);
  await untilSettled(world);

  expect(await stage.view()).toMatchObject({ status: "active", updates: { pending: [] } });
  expect(stage.members.restarted()).toEqual([1, 2, 0]);
  expect(stage.members.careless()).toEqual([]);
});

test("a switchover that a backlog refuses is tried again until it comes about", async () => {
  await using world = await newWorld();
  const members = restartingMembers();
  let backlog_seconds = 60;
  const said = (spec: NodeSpec): Partial<NodeReport> => {
    const { group, ...rest } = members.said(spec);
    return { ...rest, ...(group === undefined ? {} : { group: { ...group, backlog_seconds } }) };
  };
  await using stage = await staged(world, members, said);
  const refused = Promise.withResolvers<void>();
  await stage.begin(undefined, {
    wantLead: async (...asked: Parameters<World["activities"]["wantLead"]>) => {
      const led = await world.activities.wantLead(...asked);
      if (led.state === "refused") refused.resolve();
      return led;
    },
  });
  await patch(stage);
  await refused.promise;
  expect(members.restarted()).toEqual([1, 2]);

  backlog_seconds = 0;
  await untilSettled(world);

  expect(members.restarted()).toEqual([1, 2, 0]);
  expect(members.careless()).toEqual([]);
});
