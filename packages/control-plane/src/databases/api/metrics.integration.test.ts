import type { MetricSeries } from "@moorage/contract";
import { startPrometheus } from "@moorage/testkit/prometheus.ts";
import { expect, test, vi } from "vitest";
import { createSamples } from "#fleet/index.ts";
import { activeDatabase, INSTANCES } from "#testing/active-database.ts";
import { startGateway } from "#testing/gateway.ts";
import { newWorld } from "#testing/world.ts";

test("the metrics that a host sent are in its tenant's series, and in nobody else's", async () => {
  let served = (): string => "";
  await using prometheus = await startPrometheus(() => served());
  await using world = await newWorld({ prometheusUrl: prometheus.url });
  const samples = createSamples(world);
  served = samples.text;
  const [alice, bob, host] = [await world.customer(), await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  const [node] = await world.nodes();
  const values = { connections: 42, queries_total: 1000 };

  const shown = await vi.waitFor(
    async () => {
      // Samples are served for a minute: sent again, as a host does, they do not end before they are scraped.
      world.time.now = new Date();
      await samples.take(host.id, { protocol: 1, nodes: [{ node: node?.id ?? "", values }] });
      const { body } = await alice.get<MetricSeries>(`${INSTANCES}/${database.id}/metrics/connections`);
      expect(body.series?.[0]?.points.at(-1)?.[1]).toBe(42);
      return body;
    },
    { timeout: 120_000, interval: 500 },
  );

  expect(shown).toMatchObject({ metric: "connections", unit: "count", step: 30 });
  expect((await bob.get(`${INSTANCES}/${database.id}/metrics/connections`)).status).toBe(404);
  expect((await alice.get(`${INSTANCES}/${database.id}/metrics/secrets`)).status).toBe(404);
});

test("a host cannot send metrics of another host's node, and metrics older than a minute are not served", async () => {
  await using world = await newWorld();
  const samples = createSamples(world);
  const [alice, host, other] = [await world.customer(), await world.host(), await world.host()];
  await activeDatabase(world, alice, host);
  const [node] = await world.nodes();
  const owner = node?.host_id === host.id ? host : other;
  const stranger = owner === host ? other : host;
  const message = { protocol: 1 as const, nodes: [{ node: node?.id ?? "", values: { connections: 7 } }] };

  await samples.take(stranger.id, message);
  expect(samples.text()).not.toContain(`node="${node?.id}"`);
  await samples.take(owner.id, message);
  expect(samples.text()).toContain(`node="${node?.id}"} 7`);
  world.time.now = new Date(world.time.now.getTime() + 61_000);
  expect(samples.text()).not.toContain(`node="${node?.id}"`);
});

test("without Prometheus the error states that the database is not affected", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { id } = await activeDatabase(world, alice, host);

  const reply = await alice.get<{ errors: { reason: string }[] }>(`${INSTANCES}/${id}/metrics/queries`);

  expect([reply.status, reply.body.errors[0]?.reason]).toEqual([503, expect.stringContaining("not affected")]);
});

test.each([
  ["from=2026-01-01T00:00:00&to=2025-01-01T00:00:00", "from"],
  ["from=yesterday", "from"],
  ["step=5", "step"],
  ["from=2020-01-01T00:00:00&step=15", "step"],
])("a range that cannot be plotted is refused by its field: %s", async (query, field) => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { id } = await activeDatabase(world, alice, host);

  const reply = await alice.get(`${INSTANCES}/${id}/metrics/queries?${query}`);

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field }] } });
});

test("the gateway accepts metrics from an enrolled host", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();

  expect((await gateway.post(host, "/v1/samples", { nodes: [] })).status).toBe(200);
  expect((await gateway.post(undefined, "/v1/samples", { nodes: [] })).status).toBe(401);
});
