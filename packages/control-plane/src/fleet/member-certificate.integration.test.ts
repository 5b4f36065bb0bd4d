import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { checkServerIdentity, connect, createServer } from "node:tls";
import { X509Certificate } from "node:crypto";
import type { CertificateReply, NodeSpec } from "@moorage/contract/agent";
import { newRequest, selfSigned } from "@moorage/testkit/certificates.ts";
import { expect, test } from "vitest";
import { CLUSTER_PLAN, offerClusterPlan } from "#testing/active-database.ts";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { newWorld, type World, ZONE } from "#testing/world.ts";
import { createCertificateAuthority } from "./certificate-authority.ts";

type Certified = CertificateReply & { key: string; spec: NodeSpec };

/** Two new clusters on the same three hosts, and the gateway's answer for each of their members. */
async function twoClusters(world: World, gateway: Gateway) {
  await offerClusterPlan(world);
  const hosts = [await gateway.enrolledHost(), await gateway.enrolledHost(), await gateway.enrolledHost()];
  for (const host of hosts) {
    const message = { epoch: 0, revision: 0, agent: "a", boot: "b", now: world.time.now.toISOString(), trash_mb: 0 };
    await gateway.post(host, "/v1/desired", message);
  }
  const alice = await world.customer();
  const databases: number[] = [];
  for (let number = 0; number < 2; number++) {
    databases.push((await alice.create({ type: CLUSTER_PLAN, cluster_size: 3 })).body.id);
    await world.activities.setDesiredNodes((await world.lastOperation()).id);
  }
  const nodes = (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal);
  const certify = async (id: number): Promise<Certified[]> => {
    const all: Certified[] = [];
    for (const { host_id, desired_spec } of nodes.filter(({ database_id }) => database_id === id)) {
      const host = hosts.find((each) => each.id === host_id);
      const spec = desired_spec as NodeSpec;
      const { key, csr } = await newRequest();
      const { body } = await gateway.post<CertificateReply>(host, "/v1/certificate", { node: spec.node, csr });
      all.push({ ...body, key, spec });
    }
    return all;
  };
  return { databases: databases as [number, number], certify };
}

const addressOf = ({ spec }: Certified): string =>
  spec.cluster?.members.find(({ node }) => node === spec.node)?.address as string;

/** The error that the client sees, or undefined: it was convinced. */
async function refusal(
  server: Pick<Certified, "key" | "certificate">,
  client: { host: string; ca: string },
): Promise<string | undefined> {
  const listener = createServer({ key: server.key, cert: server.certificate }, (socket) => socket.end());
  listener.on("tlsClientError", () => {});
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const identity = /^[\d.]+$/.test(client.host) ? {} : { servername: client.host };
  const socket = connect({
    port,
    host: "127.0.0.1",
    ca: client.ca,
    ...identity,
    checkServerIdentity: (_, certificate) => checkServerIdentity(client.host, certificate),
  });
  try {
    await once(socket, "secureConnect");
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.destroy();
    listener.close();
  }
}

test("members trust the members of their own database at their own addresses, and nobody else", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { databases, certify } = await twoClusters(world, gateway);
  const [[one, two], [other]] = [await certify(databases[0]), await certify(databases[1])] as [
    [Certified, Certified, Certified],
    [Certified, Certified, Certified],
  ];

  expect(await refusal(two, { host: addressOf(two), ca: one.ca })).toBeUndefined();
  expect(await refusal(two, { host: addressOf(one), ca: one.ca })).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  // The other database's member on the first host has the same address.
  expect(addressOf(other)).toBe(addressOf(one));
  expect(await refusal(other, { host: addressOf(one), ca: two.ca })).toMatch(/UNABLE|SELF_SIGNED/);
  expect(new X509Certificate(one.certificate).keyUsage).toEqual(["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"]);
  expect(new X509Certificate(one.certificate).issuer).toBe(`CN=database-${databases[0]}`);
});

test("clients who trust the installation's authority alone accept a member by the database's name", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { databases, certify } = await twoClusters(world, gateway);
  const [member] = (await certify(databases[0])) as [Certified];
  const ca = world.databaseCa.certificate;

  expect(await refusal(member, { host: `db-${databases[0]}-mysql-primary.${ZONE}`, ca })).toBeUndefined();
  expect(await refusal(member, { host: `db-${databases[1]}-mysql-primary.${ZONE}`, ca })).toBe(
    "ERR_TLS_CERT_ALTNAME_INVALID",
  );
  const elsewhere = await selfSigned("CN=test databases", { authority: true });
  expect(
    await refusal(member, { host: `db-${databases[0]}-mysql-primary.${ZONE}`, ca: elsewhere.certificate }),
  ).toMatch(/UNABLE|SELF_SIGNED|SIGNATURE/);
});

// Members renew at different times: in between, they must still trust each other.
test("after the installation's authority was replaced, earlier and renewed certificates of members verify each other", async () => {
  const now = new Date();
  const certified = async (address: string) => {
    const root = await selfSigned("CN=test databases", { authority: true });
    const authority = await createCertificateAuthority(root.certificate, root.key);
    const ca = await authority.ofCluster({ name: "database-1", secret: "of this cluster", days: 14 }, now);
    const { key, csr } = await newRequest();
    const { pem } = await ca.sign(csr, { commonName: "node", days: 14, serves: [name], member: address }, now);
    return { key, certificate: pem, ca: ca.pem, root: root.certificate };
  };
  const name = "db-1-mysql-primary.moorage.test";
  const [earlier, renewed] = [await certified("10.9.0.1"), await certified("10.9.0.2")];

  expect(await refusal(renewed, { host: "10.9.0.2", ca: earlier.ca })).toBeUndefined();
  expect(await refusal(earlier, { host: "10.9.0.1", ca: renewed.ca })).toBeUndefined();
  expect(await refusal(renewed, { host: name, ca: renewed.root })).toBeUndefined();
  expect(await refusal(renewed, { host: name, ca: earlier.root })).toBeDefined();
});
