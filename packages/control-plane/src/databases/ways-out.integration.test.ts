import type { NodeSpec } from "@moorage/contract/agent";
import { inTurn } from "@moorage/testkit/turns.ts";
import { expect, test } from "vitest";
import { activeCluster, activeDatabase, reportMembers } from "#testing/active-database.ts";
import { hasBackup, later } from "#testing/archive-records.ts";
import { leaveGroup } from "#testing/simulated-group.ts";
import {
  type Dead,
  deadOf,
  type DeadStatus,
  type Kind,
  kinds,
  statuses,
  type Step,
  waysOut,
} from "#testing/ways-out.ts";
import { newWorld, type World } from "#testing/world.ts";
import { settlementOf } from "./workflows/bootstrap-group.ts";

/** Reports and checks until something has happened that this many cannot fail to bring. */
const ROUNDS = 12;

type Fixture = Awaited<ReturnType<typeof deadFixture>>;

/** A database with a backup, on hosts of which the first are declared dead while it has this status. */
async function deadFixture(world: World, kind: Kind, status: DeadStatus, dead: Dead) {
  const alice = await world.customer();
  const hosts = [];
  for (let n = 0; n < 6; n++) hosts.push(await world.host());
  const change = kind === "three nodes, asynch" ? { replication_type: "asynch" } : {};
  const [first] = hosts;
  if (first === undefined) throw new Error("There is no host.");
  const database =
    kind === "one node" ? await activeOnOne(world, alice, hosts) : await activeCluster(world, alice, hosts, change);
  const backup = await hasBackup(world, database, "snapshot");
  await enter(world, { alice, database, backup, hosts }, status);

  const nodes = await world.nodes();
  const lost = nodes.filter(({ ordinal }) => ordinal < dead);
  const gone = hosts.filter(({ id }) => lost.some(({ host_id }) => host_id === id));
  const others = hosts.filter((host) => !gone.includes(host));
  // A minority leaves its group.
  const leaving = dead === 1 ? lost : nodes;
  for (const { id, desired_spec } of leaving) {
    const group = (desired_spec as NodeSpec).cluster?.group;
    if (group !== undefined) leaveGroup(group, id);
  }
  const round = async (): Promise<void> => {
    later(world, 10);
    for (const host of others) await host.poll();
    await reportAll(world, others);
    await world.run("lostHosts");
    await world.run("clusterHealth");
  };
  for (let n = 0; n < 5; n++) await round();
  for (const { name } of gone)
    expect(await world.operator.post(`/admin/hosts/${name}/dead`, {})).toMatchObject({ status: 200 });
  await round();
  return {
    alice,
    database,
    backup,
    round,
    others,
    status: async () => (await alice.get<{ status: string }>(database.url)).body.status,
  };
}

async function activeOnOne(world: World, alice: Awaited<ReturnType<World["customer"]>>, hosts: readonly Host[]) {
  const place = async (): Promise<Host> => {
    const [node] = await world.nodes();
    return hosts.find(({ id }) => id === node?.host_id) as Host;
  };
  return activeDatabase(world, alice, { report: async (spec, state) => (await place()).report(spec, state) } as Host);
}
type Host = Awaited<ReturnType<World["host"]>>;

const reportAll = (world: World, hosts: readonly Host[]): Promise<void> => reportMembers(world, hosts);

/** The requests that lead to the status; their operations stay open, but for a suspension. */
async function enter(
  world: World,
  { alice, database, backup, hosts }: Pick<Fixture, "alice" | "database" | "backup"> & { hosts: readonly Host[] },
  status: DeadStatus,
): Promise<void> {
  const suspended = async (): Promise<void> => {
    await alice.post(`${database.url}/suspend`);
    const { id } = await world.lastOperation();
    await world.activities.applyChange(id);
    await reportAll(world, hosts);
    await world.activities.endChange(id, { done: true });
  };
  const requests: Record<DeadStatus, () => Promise<unknown>> = {
    active: async () => undefined,
    /** The host of the first node is silent. */
    degraded: async () => {
      const [node] = (await world.nodes()).filter(({ ordinal }) => ordinal === 0);
      leaveGroup(node?.desired_spec?.cluster?.group ?? "", node?.id ?? "");
      const others = hosts.filter(({ id }) => id !== node?.host_id);
      for (let n = 0; n < 5; n++) {
        later(world, 10);
        for (const host of others) await host.poll();
        await reportAll(world, others);
        await world.run("lostHosts");
        await world.run("clusterHealth");
      }
    },
    updating: () => alice.put(database.url, { allow_list: ["192.0.2.1"] }),
    backing_up: () => alice.post(`${database.url}/backups`, { label: "another" }),
    /** The first node of a cluster restores the data. */
    restoring: async () => {
      await alice.post(`${database.url}/backups/${backup.id}/restore`);
      const { id } = await world.lastOperation();
      if ((await world.nodes()).length > 1) await world.activities.setRestoredTimeline(id);
    },
    suspending: () => alice.post(`${database.url}/suspend`),
    suspended,
    resuming: async () => {
      await suspended();
      await alice.post(`${database.url}/resume`);
    },
  };
  await requests[status]();
  expect((await alice.get<{ status: string }>(database.url)).body.status).toBe(status);
}

const take: Record<Step, (world: World, fixture: Fixture) => Promise<unknown>> = {
  jobs: async () => undefined,
  deadline: async (world, { round }) => {
    const { id, settled_at } = await world.lastOperation();
    if (settled_at === null) await world.expire(id);
    await round();
  },
  move: async (world, { round }) => {
    const { id } = await world.lastOperation();
    const untilObserved = async (check: (operationId: number) => Promise<{ state: string }>): Promise<void> => {
      for (let n = 0; n < ROUNDS && (await check(id)).state === "pending"; n++) await round();
      expect(await check(id)).toEqual({ state: "observed" });
    };
    await untilObserved(world.activities.checkRestored);
    expect(await world.activities.recloneMembers(id)).toBe("requested");
    await untilObserved(world.activities.checkRecloned);
    await world.activities.endChange(id, { done: true });
  },
  resume: async (world, { alice, database, round }) => {
    expect(await alice.post(`${database.url}/resume`)).toMatchObject({ status: 200 });
    const { id } = await world.lastOperation();
    await world.activities.applyChange(id);
    for (let n = 0; n < ROUNDS; n++) {
      const progress = await world.activities.advanceBootstrap(id);
      if (progress.next !== "wait") {
        await world.activities.endChange(id, settlementOf(progress));
        return round();
      }
      await round();
    }
    throw new Error("The resume does not end.");
  },
  delete: async (_world, { alice, database }) =>
    expect(await alice.delete(database.url)).toMatchObject({ status: 200 }),
  restore: async (world, { alice, database, backup, round }) => {
    expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({ status: 200 });
    const { id } = await world.lastOperation();
    expect(await world.activities.setRestoredTimeline(id)).toBe("requested");
    for (let n = 0; n < ROUNDS && (await world.checkPhase(id, "restored")).state === "pending"; n++) await round();
    expect(await world.checkPhase(id, "restored")).toEqual({ state: "observed" });
    await world.activities.recloneMembers(id);
    await round();
    await world.activities.endChange(id, { done: true });
  },
  bootstrap: async (world, { database, round }) => {
    const path = `/admin/databases/${database.id}/bootstrap`;
    expect(await world.operator.post(path, { accept_loss: true })).toMatchObject({ status: 200 });
    const { id, kind } = await world.lastOperation();
    for (let n = 0; n < ROUNDS && kind === "bootstrapGroup"; n++) {
      await round();
      if ((await world.activities.advanceBootstrap(id)).next !== "bootstrapped") continue;
      return world.activities.endChange(id, { done: true });
    }
  },
};

const isAtEnd: Record<ReturnType<typeof waysOut>[number]["end"], (world: World, fixture: Fixture) => Promise<boolean>> =
  {
    deleted: async (_world, { alice, database }) => (await alice.get(database.url)).status === 404,
    replaced: async (world) => (await world.openOperations()).includes("replaceNode"),
    restored: async (world, { database }) =>
      (await world.openOperations()).includes("replaceNode") &&
      (await world.db.selectFrom("timelines").select("id").where("database_id", "=", database.id).execute()).length > 1,
    elsewhere: async (world) => {
      const { id, kind, settled_at } = await world.lastOperation();
      if (kind !== "restoreDatabase" || settled_at !== null) return false;
      if ((await world.activities.setRestoredTimeline(id)) !== "requested elsewhere") return false;
      return true;
    },
  };

const cells = kinds.flatMap((kind) =>
  statuses.flatMap((status) =>
    deadOf(kind).flatMap((dead) =>
      waysOut(kind, status, dead).map((way) => [kind, status, dead, way.steps.join(", "), way] as const),
    ),
  ),
);

test.each(inTurn(cells, 3))("%s, %s, dead hosts: %i; way out: %s", async (kind, status, dead, _name, way) => {
  await using world = await newWorld();
  const fixture = await deadFixture(world, kind, status, dead);
  for (const step of way.steps) await take[step](world, fixture);
  for (let n = 0; n < ROUNDS && !(await isAtEnd[way.end](world, fixture)); n++) await fixture.round();
  expect(await isAtEnd[way.end](world, fixture)).toBe(true);
});

test("no combination of status and dead hosts is without a way out", () => {
  for (const kind of kinds)
    for (const status of statuses)
      for (const dead of deadOf(kind)) expect(waysOut(kind, status, dead).length).toBeGreaterThan(0);
});

test("a restore that fails on the only node that is left lets it open the previous data only with the operator", async () => {
  await using world = await newWorld();
  const { alice, database, backup } = await deadFixture(world, "three nodes, asynch", "active", 2);
  const primary = async () =>
    (await world.nodes()).find(({ ordinal }) => ordinal === 2)?.desired_spec?.cluster?.primary?.reason;
  expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  await world.activities.setRestoredTimeline(id);
  expect(await primary()).toBe("sole_survivor");

  await world.activities.endChange(id, { done: false });

  expect(await primary()).toBe("fenced");
});
