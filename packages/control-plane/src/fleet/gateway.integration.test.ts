import { X509Certificate } from "node:crypto";
import { HOST_CERTIFICATE_DAYS, type NodeSpec } from "@moorage/contract/agent";
import { newRequest, requestOf, selfSigned } from "@moorage/testkit/certificates.ts";
import { expect, test, vi } from "vitest";
import { startGateway } from "#testing/gateway.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const poll = { agent: "test", epoch: 0, revision: 0, boot: "b", now: new Date().toISOString(), trash_mb: 0 };
const DAY_MS = 86_400_000;
const nothing = { complete: true, nodes: [], unknown: [] };
const unknownNode = { node: "00000000-0000-4000-8000-000000000000" };

/** A database whose node was placed on the only host that was seen. */
async function nodeOn(world: World): Promise<NodeSpec> {
  await (await world.customer()).create();
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  return (await world.nodes()).at(-1)?.desired_spec as NodeSpec;
}

test("a token enrols one key: its owner may repeat the request, another key is refused", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await world.registerHost();
  const [mine, other] = [await newRequest(), await newRequest()];

  expect(await gateway.enrol(host.enrol_token, mine.csr)).toMatchObject({ status: 200, body: { host: host.id } });
  expect(await gateway.enrol(host.enrol_token, other.csr)).toMatchObject({ status: 401 });
  expect(await gateway.enrol(host.enrol_token, mine.csr)).toMatchObject({ status: 200 });
});

test("of two keys that arrive at once with one token, one is enrolled", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await world.registerHost();
  const requests = await Promise.all(Array.from({ length: 4 }, () => newRequest()));

  const replies = await Promise.all(requests.map(({ csr }) => gateway.enrol(host.enrol_token, csr)));

  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401, 401, 401]);
});

test("a host's certificate carries its name and serves as both client and server certificate", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await world.registerHost();
  const { csr } = await newRequest();

  const { body } = await gateway.enrol(host.enrol_token, csr);

  const { subject, keyUsage } = new X509Certificate(body.certificate);
  expect(subject).toBe(`CN=host-${host.id}`);
  expect(keyUsage).toEqual(["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"]);
});

// The response with the new certificate can be lost, and the control plane's database can be set back to before it.
test("each certificate of the enrolled key authenticates the host", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await world.registerHost();
  const { key, csr } = await newRequest();
  const first = { key, certificate: (await gateway.enrol(host.enrol_token, csr)).body.certificate };
  const second = { key, certificate: (await gateway.enrol(host.enrol_token, csr)).body.certificate };
  const { body } = await gateway.post<{ certificate: string }>(first, "/v1/renew", { csr });

  for (const each of [first, second, { key, certificate: body.certificate }])
    expect(await gateway.post(each, "/v1/observed", nothing)).toMatchObject({ status: 200 });
});

test("a certificate is renewed for the enrolled key only: another key is refused, and nothing changes", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  const before = await world.hostRow(host.id);
  const other = await newRequest();

  expect(await gateway.post(host, "/v1/renew", { csr: other.csr })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "csr", reason: expect.stringContaining(texts.csrOfOtherKey().text) }] },
  });

  expect(await world.hostRow(host.id)).toEqual(before);
  expect(await gateway.post(host, "/v1/observed", nothing)).toMatchObject({ status: 200 });
});

test("the gateway accepts a certificate for 7 days, other hosts for 30", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world, { certificateDays: HOST_CERTIFICATE_DAYS });
  const host = await world.registerHost();
  const { key, csr } = await newRequest();
  const { certificate } = (await gateway.enrol(host.enrol_token, csr)).body;
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  expect(validToDate.getTime() - world.time.now.getTime()).toBeGreaterThan(30 * DAY_MS - 1000);
  expect(validToDate.getTime() - world.time.now.getTime()).toBeLessThanOrEqual(30 * DAY_MS);

  world.time.now = new Date(validFromDate.getTime() + 7 * DAY_MS);
  expect(await gateway.post({ key, certificate }, "/v1/observed", nothing)).toMatchObject({ status: 200 });
  world.time.now = new Date(world.time.now.getTime() + 1);
  const tooOld = texts.certificateTooOld({ name: host.name, days: 7 }).text;
  for (const [path, body] of [
    ["/v1/observed", nothing],
    ["/v1/renew", { csr }],
  ] as const)
    expect(await gateway.post({ key, certificate }, path, body)).toMatchObject({
      status: 401,
      body: { errors: [{ reason: tooOld }] },
    });
});

test("an expired or unknown token and a malformed request are refused, and the host stays unchanged", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await world.registerHost();
  const { csr } = await newRequest();

  expect(await gateway.enrol("0".repeat(64), csr)).toMatchObject({ status: 401 });
  expect(await gateway.enrol(host.enrol_token, "nonsense")).toMatchObject({ status: 400 });
  world.time.now = new Date(world.time.now.getTime() + 24 * 3_600_000);
  expect(await gateway.enrol(host.enrol_token, csr)).toMatchObject({ status: 401 });

  expect(await world.hostRow(host.id)).toMatchObject({ state: "enrolling", enrol_key_sha256: null });
});

const ecdsa = (namedCurve: string) => ({ name: "ECDSA", namedCurve });
const rsa = (modulusLength: number, exponent = [1, 0, 1]) => ({
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength,
  publicExponent: new Uint8Array(exponent),
});

test.each([
  ["ECDSA P-256", ecdsa("P-256"), 200],
  ["ECDSA P-384", ecdsa("P-384"), 200],
  ["Ed25519", "Ed25519", 200],
  ["RSA of 2048 bits", rsa(2048), 200],
  ["ECDSA P-521", ecdsa("P-521"), 400],
  ["RSA of 1024 bits", rsa(1024), 400],
  ["RSA of 4104 bits", rsa(4104), 400],
  ["RSA with the exponent 3", rsa(2048, [3]), 400],
] as const)(
  "the request of a host's key, %s, is answered with its certificate or a refusal",
  async (_, kind, status) => {
    await using world = await newWorld();
    await using gateway = await startGateway(world);
    const host = await world.registerHost();

    const reply = await gateway.enrol(host.enrol_token, await requestOf(kind));

    expect(reply.status).toBe(status);
    expect((await world.hostRow(host.id)).state).toBe(status === 200 ? "active" : "enrolling");
    expect(JSON.stringify(reply.body).includes(texts.csrKeyInvalid().text)).toBe(status === 400);
  },
);

test("registering an enrolled host again returns no new token", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  const row = await world.hostRow(host.id);
  const { name, region, failure_domain, node_network, memory_mb, disk_mb, vcpus } = row;

  const again = await world.operator.post("/admin/hosts", {
    name,
    region,
    failure_domain,
    node_network,
    memory_mb,
    disk_mb,
    vcpus,
    address: row.address.replace(/\/\d+$/, ""),
  });

  expect(again).toMatchObject({ status: 200, body: { id: host.id, state: "active" } });
  expect(again.body["enrol_token"]).toBeUndefined();
});

test("without the certificate of an enrolled host, every call but enrol is 401", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const stranger = await selfSigned("CN=host-1025");
  const dead = await gateway.enrolledHost();
  await world.db.updateTable("hosts").set({ state: "dead" }).where("id", "=", dead.id).execute();

  for (const who of [undefined, stranger, dead])
    for (const [path, body] of [
      ["/v1/desired", poll],
      ["/v1/observed", nothing],
      ["/v1/secrets", unknownNode],
      ["/v1/certificate", { ...unknownNode, csr: "" }],
    ] as const)
      expect([path, (await gateway.post(who, path, body)).status]).toEqual([path, 401]);
});

test("a message of another protocol version is refused with the version named", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();

  const reply = await gateway.post(host, "/v1/observed", { ...nothing, protocol: 2 });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "protocol" }] } });
});

test("a host reads the secrets of its own nodes only, while they are desired, and each read is audited", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const [own, other] = [await gateway.enrolledHost(), await gateway.enrolledHost()];
  await gateway.post(own, "/v1/observed", nothing);
  await world.db
    .insertInto("host_leases")
    .values({
      host_id: own.id,
      seen_at: world.time.now,
      agent: "test",
      agent_epoch: 1,
      boot: "b",
      clock_offset_ms: 0,
      trash_mb: 0,
      unknown: [],
    })
    .execute();
  const { node } = await nodeOn(world);

  expect(await gateway.post(other, "/v1/secrets", { node })).toMatchObject({ status: 404 });
  expect(await gateway.post(own, "/v1/secrets", { node })).toMatchObject({
    status: 200,
    body: { admin_password: expect.stringMatching(/^[\w-]{32}$/) },
  });
  const readings = (await world.audit()).filter(({ action }) => action === "read_credentials");
  expect(readings).toHaveLength(1);

  await world.db.updateTable("nodes").set({ tombstoned: true }).execute();
  expect(await gateway.post(own, "/v1/secrets", { node })).toMatchObject({ status: 404 });
});

test("a long poll renews the lease, and answers as soon as its host is assigned a node", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  // No poll ends by itself within the time of this test.
  const { wait } = gateway.wakeups;
  gateway.wakeups.wait = (hostId, _ms, signal) => wait(hostId, 3_600_000, signal);
  let answer: { nodes?: NodeSpec[]; revision: number } = { revision: 0 };
  let node = "";
  let revision = 0;

  // A gateway that reconnects to its database answers all polls, as it may on a busy machine: then the next one counts.
  while (answer.nodes === undefined) {
    await world.db.deleteFrom("host_leases").execute();
    const waiting = gateway.post<typeof answer>(host, "/v1/desired", { ...poll, epoch: 1, revision });
    await expect.poll(() => world.db.selectFrom("host_leases").selectAll().execute()).toHaveLength(1);
    ({ node } = await nodeOn(world));
    revision++;
    answer = (await waiting).body;
  }

  expect(answer).toMatchObject({ revision, nodes: [{ node, generation: 1 }] });
});

test("a host is sent what changed since its revision, and everything in a new epoch", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  await gateway.post(host, "/v1/desired", poll);
  const [first, second] = [await nodeOn(world), await nodeOn(world)];
  const nodesSince = async (revision: number, epoch: number) => {
    const { body } = await gateway.post<{ nodes: NodeSpec[] }>(host, "/v1/desired", { ...poll, revision, epoch });
    return body.nodes.map(({ node }) => node).sort();
  };

  expect(await nodesSince(0, 1)).toEqual([first.node, second.node].sort());
  expect(await nodesSince(1, 1)).toEqual([second.node]);
  expect(await nodesSince(2, 0)).toEqual([first.node, second.node].sort());
});

test("a poll without changes ends empty, long before the host's timeout", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  // Also a gateway that reconnects to its database wakes polls, as it may on a busy machine.
  gateway.wakeups.wake = () => {};
  const waits = vi.spyOn(gateway.wakeups, "wait");
  const began = Date.now();

  const { body } = await gateway.post<{ nodes?: unknown }>(host, "/v1/desired", { ...poll, epoch: 1 });

  expect(body).toMatchObject({ revision: 0, digest: false });
  expect(body.nodes).toBeUndefined();
  expect(Date.now() - began).toBeGreaterThan(9_000);
  expect(Date.now() - began).toBeLessThan(120_000);
  expect(waits.mock.lastCall?.[1]).toBeLessThan(20_000);
});

test("a host whose clock is decades off is still seen, and shown to the operator", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();

  const reply = await gateway.post(host, "/v1/desired", { ...poll, now: "1970-01-01T00:00:00Z" });

  expect(reply.status).toBe(200);
  expect((await world.operator.get("/admin/hosts")).body).toMatchObject({ data: [{ id: host.id, clock_wrong: true }] });
});

test("containers of a host that no spec explains are shown to the operator", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  await gateway.post(host, "/v1/desired", poll);

  await gateway.post(host, "/v1/observed", { ...nothing, unknown: ["unknown container"] });

  expect((await world.operator.get("/admin/hosts")).body).toMatchObject({ data: [{ unknown: ["unknown container"] }] });
});
