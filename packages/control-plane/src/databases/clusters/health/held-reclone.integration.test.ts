import type { NodeSpec } from "@moorage/contract/agent";
import type { Host } from "@moorage/contract/operator";
import { expect, test } from "vitest";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld } from "#testing/world.ts";
import { replacementHeldBy } from "./replacement-limits.ts";

const message = "The re-clone of this member is held by the limit of its host.";

/** A cluster on three hosts: its broken member can only be re-cloned in place. */
async function orderedReclone() {
  const world = await newWorld();
  const cluster = await watchedCluster(world, { hosts: 3 });
  await cluster.reportAll({}, {});
  await cluster.reportMember(2, { node: "failed" });
  await cluster.after(31);
  const { id } = await world.lastOperation();
  expect(await world.activities.placeReplacement(id)).toBe("placed");
  const host = await cluster.hostOf(2);
  const node = (await cluster.nodes())[2];
  const report = (state: "working" | "held") =>
    host.report(node?.desired_spec as NodeSpec, state, state === "held" ? { message } : {});
  await report("working");
  return { world, host, node, report };
}

test("a re-clone that its host holds takes no place among the replacements of its region", async () => {
  const { world, report } = await orderedReclone();
  await using _ = world;
  const limits = { replacementsPerRegion: 1, silentHostsPercent: 100 };
  const heldBy = () =>
    world.db.transaction().execute((tx) => replacementHeldBy(tx, { region: "eu-central" }, limits, world.time.now));

  expect(await heldBy()).toEqual({ by: "limit", open: 1 });
  await report("held");
  expect(await heldBy()).toBeUndefined();
});

test("the operator's list of hosts shows what each host holds, until it goes on", async () => {
  const { world, host, node, report } = await orderedReclone();
  await using _ = world;
  const held = async () =>
    (await world.operator.get<{ data: Host[] }>("/admin/hosts")).body.data.find(({ id }) => id === host.id)?.held;

  expect(await held()).toEqual([]);
  await report("held");
  expect(await held()).toEqual([{ node: node?.id, database: node?.database_id, message }]);
  await report("working");
  expect(await held()).toEqual([]);

  // A discarded timeline is held while the node runs as desired.
  await host.report(node?.desired_spec as NodeSpec, "running", { message: "Timeline 0 is held." });
  expect(await held()).toMatchObject([{ message: "Timeline 0 is held." }]);
});
