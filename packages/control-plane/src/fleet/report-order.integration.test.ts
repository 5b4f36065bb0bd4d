import type { NodeSpec, Sequence } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { sealSpec } from "#fleet/told.ts";
import { CLUSTER_PLAN, offerClusterPlan } from "#testing/active-database.ts";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { newWorld, type World } from "#testing/world.ts";

const poll = { agent: "test", epoch: 1, revision: 0, boot: "b", now: new Date().toISOString(), trash_mb: 0 };
const nothing = { complete: true, nodes: [], unknown: [] };

/** Three hosts, the nodes of a cluster on them, and reports of its first node in an order that the test gives. */
async function reportingHost(world: World, gateway: Gateway) {
  const hosts = [await gateway.enrolledHost(), await gateway.enrolledHost(), await gateway.enrolledHost()];
  // A new revision is answered at once.
  await world.db.updateTable("hosts").set({ revision: 1 }).execute();
  for (const host of hosts) await gateway.post(host, "/v1/desired", poll);
  await offerClusterPlan(world);
  await (await world.customer()).create({ type: CLUSTER_PLAN, cluster_size: 3 });
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  const row = (await world.nodes())[0] as NonNullable<Awaited<ReturnType<World["nodes"]>>[0]>;
  const spec = row.desired_spec as NodeSpec;
  const { node, epoch, generation } = spec;
  const host = hosts.find(({ id }) => id === row.host_id);
  const group = (role: "primary" | "secondary") => ({ state: "online", role, online: 3, shared: true });
  return {
    node,
    /** Running as a primary, or working as a secondary. */
    report: (sequence: Sequence, role: "primary" | "secondary", change: Partial<NodeSpec> = {}) => {
      const state = role === "primary" ? "running" : "working";
      const { seal } = sealSpec(world.sealer, row.host_id, { ...spec, ...change });
      const report = { node, epoch, generation, seal, state, percent: 100, group: group(role), ...change };
      return gateway.post(host, "/v1/observed", { ...nothing, complete: false, sequence, nodes: [report] });
    },
    digest: (sequence: Sequence, step: string) => {
      const report = { node, epoch, generation, state: "running", percent: 100, step };
      return gateway.post(host, "/v1/observed", { ...nothing, sequence, digest: 2, nodes: [report] });
    },
    async stored() {
      const [of] = await world.db.selectFrom("nodes").selectAll().where("id", "=", node).execute();
      const [member] = await world.db.selectFrom("members").select("report").where("node_id", "=", node).execute();
      return [of?.observed_state, member?.report?.role];
    },
  };
}

// A request that hung in a gateway is stored after the next one, which the agent sent when it had waited long enough.
test("of two reports of one generation the newer stays, in whichever order they arrive", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { report, stored } = await reportingHost(world, gateway);

  expect(await report({ start: 1, count: 2 }, "primary")).toMatchObject({ status: 200 });
  expect(await report({ start: 1, count: 1 }, "secondary")).toMatchObject({ status: 200 });
  expect(await stored()).toEqual(["running", "primary"]);

  await report({ start: 1, count: 3 }, "secondary");
  expect(await stored()).toEqual(["working", "secondary"]);
});

test("a restarted agent counts from the beginning, and its reports are newer than all of before", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { report, stored } = await reportingHost(world, gateway);
  await report({ start: 1, count: 700 }, "secondary");

  await report({ start: 2, count: 1 }, "primary");
  expect(await stored()).toEqual(["running", "primary"]);

  await report({ start: 1, count: 701 }, "secondary");
  expect(await stored()).toEqual(["running", "primary"]);
});

test("a report of a newer generation is stored, whatever its place in the order", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { report, stored } = await reportingHost(world, gateway);
  await report({ start: 2, count: 9 }, "secondary");

  await report({ start: 1, count: 1 }, "primary", { epoch: 2 });

  expect(await stored()).toEqual(["running", "primary"]);
});

test("of two digests of one epoch the newer stays, in whichever order they arrive", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { digest } = await reportingHost(world, gateway);
  const steps = async () =>
    (await world.db.selectFrom("host_digests").select("nodes").execute()).map(({ nodes }) => nodes[0]?.step);

  await digest({ start: 1, count: 2 }, "newer");
  await digest({ start: 1, count: 1 }, "older");
  expect(await steps()).toEqual(["newer"]);

  await digest({ start: 2, count: 1 }, "newest");
  expect(await steps()).toEqual(["newest"]);
});

test("a report without its place in the order is refused", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();

  const reply = await gateway.post(host, "/v1/observed", { ...nothing, sequence: undefined });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "sequence" }] } });
});
