import { createHash, X509Certificate } from "node:crypto";
import type { DesiredReply, NodeSpec, RevokedKeys } from "@moorage/contract/agent";
import { newRequest } from "@moorage/testkit/certificates.ts";
import { expect, test } from "vitest";
import { type Gateway, type Identity, startGateway } from "#testing/gateway.ts";
import { newWorld, type World } from "#testing/world.ts";
import { SILENT_AFTER_MS } from "./placement.ts";
import { texts } from "./texts.ts";

const poll = { agent: "test", epoch: 1, revision: 0, boot: "b", now: new Date().toISOString(), trash_mb: 0 };
const nothing = { complete: true, nodes: [], unknown: [] };

const revoke = (world: World, { name }: { name: string }) => world.operator.post(`/admin/hosts/${name}/revoke`, {});
const tokenAgain = async (world: World, { name }: { name: string }): Promise<string> =>
  (await world.operator.post<{ enrol_token: string }>(`/admin/hosts/${name}/enrol-again`, {})).body.enrol_token;
const observed = async (gateway: Gateway, as: Identity): Promise<number> =>
  (await gateway.post(as, "/v1/observed", nothing)).status;

/** Every poll of this gateway waits until it is woken. */
function waitForever(gateway: Gateway): void {
  const { wait } = gateway.wakeups;
  gateway.wakeups.wait = (hostId, _ms, signal) => wait(hostId, 3_600_000, signal);
}

/**
 * Keeps wake-ups until the returned function is called: a gateway that reconnects to its database wakes all polls, as it
 * may on a busy machine.
 */
function keepWakeups({ wakeups }: Gateway): () => void {
  const { wake } = wakeups;
  const kept = new Set<number | "all">();
  wakeups.wake = (hostId) => void kept.add(hostId);
  return () => {
    wakeups.wake = wake;
    for (const hostId of kept) wake(hostId);
  };
}

async function nodeOn(world: World): Promise<NodeSpec> {
  await (await world.customer()).create();
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  return (await world.nodes()).at(-1)?.desired_spec as NodeSpec;
}

test("a revoked host is refused at once, and its poll that waits ends without an answer", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  waitForever(gateway);
  const wakePolls = keepWakeups(gateway);
  const waiting = gateway.post(host, "/v1/desired", poll);
  await expect.poll(() => world.db.selectFrom("host_leases").selectAll().execute()).toHaveLength(1);

  expect(await revoke(world, host)).toMatchObject({ status: 200, body: { id: host.id, name: host.name } });
  wakePolls();

  expect(await waiting).toMatchObject({ status: 401 });
  expect(await observed(gateway, host)).toBe(401);
  expect(await gateway.post(host, "/v1/desired", poll)).toMatchObject({ status: 401 });
  expect(await gateway.post(host, "/v1/renew", { csr: (await newRequest()).csr })).toMatchObject({ status: 401 });
  expect((await world.operator.get("/admin/hosts")).body).toMatchObject({ data: [{ state: "active", revoked: true }] });
  const entry = { actor: "operator", target: `/admin/hosts/${host.name}/revoke` };
  const entries = world.db.selectFrom("audit").selectAll().where("action", "=", "POST /admin/hosts/:name/revoke");
  expect(await entries.execute()).toMatchObject([entry]);
});

test("what a poll would have received after the revocation, it does not receive", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  waitForever(gateway);
  // No notification arrives: only what the gateway looks up itself counts.
  const { wake } = gateway.wakeups;
  gateway.wakeups.wake = () => {};
  const waiting = gateway.post(host, "/v1/desired", poll);
  await expect.poll(() => world.db.selectFrom("host_leases").selectAll().execute()).toHaveLength(1);
  await nodeOn(world);
  await revoke(world, host);

  const woken = setInterval(() => wake(host.id), 50);
  expect(await waiting.finally(() => clearInterval(woken))).toMatchObject({ status: 401 });
});

test("while a thief keeps polling, the real host enrols a new key and continues with its nodes", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  await gateway.post(host, "/v1/desired", { ...poll, epoch: 0 });
  const spec = await nodeOn(world);
  const nodes = await world.nodes();
  const thief: Identity = { key: host.key, certificate: host.certificate };
  const stop = new AbortController();
  const statuses: number[] = [];
  const stealing = (async () => {
    while (!stop.signal.aborted)
      statuses.push((await gateway.post(thief, "/v1/desired", { ...poll, epoch: 0 })).status);
  })();
  await expect.poll(() => statuses).toContain(200);

  const token = await tokenAgain(world, host);
  const answeredBefore = statuses.length;
  const { key, csr } = await newRequest();
  const { body } = await gateway.enrol(token, csr);
  const real: Identity = { key, certificate: body.certificate };

  expect(body.host).toBe(host.id);
  const { body: desired } = await gateway.post<{ nodes: NodeSpec[] }>(real, "/v1/desired", { ...poll, epoch: 0 });
  expect(desired.nodes).toEqual([{ ...spec, seal: expect.any(String) }]);
  expect(await world.nodes()).toEqual(nodes);
  expect((await world.operator.get("/admin/hosts")).body).toMatchObject({ data: [{ revoked: false }] });
  await expect.poll(() => statuses.length).toBeGreaterThan(answeredBefore + 3);
  stop.abort();
  await stealing;
  // The first may have been answered before the command was.
  expect(new Set(statuses.slice(answeredBefore + 1))).toEqual(new Set([401]));
  expect(await observed(gateway, real)).toBe(200);
});

test("other hosts are told a revoked key at once, and that of a host to be enrolled again when its new key is", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const [one, two, other] = [await gateway.enrolledHost(), await gateway.enrolledHost(), await gateway.enrolledHost()];
  const keyOf = ({ certificate }: { certificate: string }): string =>
    createHash("sha256")
      .update(new X509Certificate(certificate).publicKey.export({ format: "der", type: "spki" }))
      .digest("hex");
  waitForever(gateway);
  let known: RevokedKeys | undefined;
  const told = async (): Promise<string[] | undefined> => {
    const request = { ...poll, ...(known && { revoked: known.version }) };
    const { body } = await gateway.post<DesiredReply>(other, "/v1/desired", request);
    known = body.revoked ?? known;
    return body.revoked?.keys;
  };
  const wakePolls = keepWakeups(gateway);
  const first = told();
  await expect.poll(() => world.db.selectFrom("host_leases").selectAll().execute()).toHaveLength(1);
  await revoke(world, one);
  wakePolls();
  expect(await first).toEqual([keyOf(one)]);

  const token = await tokenAgain(world, two);
  gateway.wakeups.wait = async () => {};
  expect(await told()).toBeUndefined();
  const { csr } = await newRequest();
  expect(await gateway.enrol(token, csr)).toMatchObject({ status: 200 });
  expect(await told()).toEqual([keyOf(one), keyOf(two)].toSorted((a, b) => (a < b ? -1 : 1)));

  world.time.now = new Date(world.time.now.getTime() + 31 * 86_400_000);
  expect(await told()).toEqual([]);
});

test("a revoked key is never enrolled again, neither with its old token nor with a new one", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await world.registerHost();
  const { csr } = await newRequest();
  await gateway.enrol(host.enrol_token, csr);

  await revoke(world, host);
  expect(await gateway.enrol(host.enrol_token, csr)).toMatchObject({ status: 401 });

  for (const name of [host.name, (await world.registerHost()).name])
    expect(await gateway.enrol(await tokenAgain(world, { name }), csr)).toMatchObject({
      status: 400,
      body: { errors: [{ field: "csr", reason: expect.stringContaining(texts.csrOfRevokedKey().text) }] },
    });
});

// A renewal that was on its way must not bring the host back.
test("a renewal at the same time as the revocation leaves no valid certificate", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  for (let round = 0; round < 8; round++) {
    const host = await world.registerHost();
    const { key, csr } = await newRequest();
    const first = { key, certificate: (await gateway.enrol(host.enrol_token, csr)).body.certificate };
    const renewal = gateway.post<{ certificate?: string }>(first, "/v1/renew", { csr });
    const [renewed] = await Promise.all([renewal, revoke(world, host)]);
    const { certificate } = renewed.body;
    const answered = certificate === undefined ? renewed.status : await observed(gateway, { key, certificate });
    expect(answered).toBe(401);
    expect((await world.hostRow(host.id)).enrol_key_sha256).toBeNull();
  }
});

test("a revoked host that keeps calling counts as silent, and can be declared dead", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  await gateway.post(host, "/v1/desired", { ...poll, epoch: 0 });
  const dead = () => world.operator.post(`/admin/hosts/${host.name}/dead`, {});

  await revoke(world, host);
  expect(await dead()).toMatchObject({ status: 400 });
  world.time.now = new Date(world.time.now.getTime() + SILENT_AFTER_MS);
  await gateway.post(host, "/v1/desired", poll);
  expect(await dead()).toMatchObject({ status: 200 });
  const again = await world.operator.post(`/admin/hosts/${host.name}/enrol-again`, {});
  expect(again).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.deadNotEnrolled({ name: host.name }).text }] },
  });
});

test("to revoke a host that does not exist is 404, and the reason names the command that lists hosts", async () => {
  await using world = await newWorld();
  for (const action of ["revoke", "enrol-again"])
    expect(await world.operator.post(`/admin/hosts/nobody/${action}`, {})).toMatchObject({
      status: 404,
      body: { errors: [{ reason: texts.unknownName({ name: "nobody" }).text }] },
    });
});
