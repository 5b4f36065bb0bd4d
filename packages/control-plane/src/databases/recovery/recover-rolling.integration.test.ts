import { expect, test } from "vitest";
import { copyOf } from "#testing/copy-of.ts";
import { activeClusterOnAgents, CLUSTER_PLAN, offerClusterPlan, pollAll } from "#testing/active-database.ts";
import { pollingAgents } from "#testing/cluster-on-agents.ts";
import { newWorld } from "#testing/world.ts";

const LARGE = { id: "m2-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };

test.each(["it was begun", "the database was created"])(
  "after an interrupted resize and a backup from before %s no node restarts, and the window makes them equal",
  async (copied) => {
    await using world = await newWorld();
    await using hosts = await pollingAgents(world, 3);
    await offerClusterPlan(world);
    await world.operator.post("/admin/plans", LARGE);
    const alice = await world.customer();
    const empty = copied === "it was begun" ? undefined : await copyOf(world.db);
    const database = await activeClusterOnAgents(world, alice, hosts.agents);
    await pollAll(hosts.agents);
    const setBack = empty ?? (await copyOf(world.db));
    await alice.put(database.url, { type: LARGE.id });
    const { id } = await world.lastOperation();
    await world.activities.applyChange(id);
    await world.activities.advanceRoll(id);
    await pollAll(hosts.agents);
    await setBack();

    await hosts.poll();
    const reply = await world.operator.post("/admin/recover", { wait_seconds: 300 });

    expect(reply).toMatchObject({ status: 200, body: { missing: [], orphans: [] } });
    expect(hosts.specsOf(database.id).map((spec) => [spec.database.plan, spec.resources.memory_mb])).toEqual([
      [CLUSTER_PLAN, 2048],
      [LARGE.id, 4096],
      [CLUSTER_PLAN, 2048],
    ]);
    expect(await world.databaseRow(database.id)).toMatchObject({ patch_due_at: expect.any(Date) });
  },
);
