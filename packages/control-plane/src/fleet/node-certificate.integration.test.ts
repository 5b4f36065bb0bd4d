import { createPrivateKey, X509Certificate } from "node:crypto";
import { createServer, connect, type TLSSocket } from "node:tls";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { CertificateReply, NodeSpec } from "@moorage/contract/agent";
import { newRequest, requestOf, selfSigned } from "@moorage/testkit/certificates.ts";
import { expect, test } from "vitest";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { newWorld, type World, ZONE } from "#testing/world.ts";

const days = 86_400_000;

/** A host that was seen, with a database's node on it. */
async function hostWithNode(world: World, gateway: Gateway) {
  const host = await gateway.enrolledHost();
  await world.db
    .insertInto("host_leases")
    .values({
      host_id: host.id,
      seen_at: world.time.now,
      agent: "test",
      agent_epoch: 1,
      boot: "b",
      clock_offset_ms: 0,
      trash_mb: 0,
      unknown: [],
    })
    .execute();
  const { id: databaseId } = (await (await world.customer()).create()).body;
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  const spec = (await world.nodes()).at(-1)?.desired_spec as NodeSpec;
  const ask = (csr: string) => gateway.post<CertificateReply>(host, "/v1/certificate", { node: spec.node, csr });
  return { host, databaseId, spec, ask };
}

test("a node's certificate has the database's names and the host's key, whatever the request contains", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { databaseId, ask } = await hostWithNode(world, gateway);
  const { key, csr } = await newRequest("CN=db-1-mysql-primary.elsewhere.test", ["login.bank.example"]);

  const { status, body } = await ask(csr);

  expect(status).toBe(200);
  const certificate = new X509Certificate(body.certificate);
  const names = [`db-${databaseId}-mysql-primary.${ZONE}`, `db-${databaseId}-mysql-primary-private.${ZONE}`];
  expect(certificate.subjectAltName).toBe(names.map((name) => `DNS:${name}`).join(", "));
  expect(certificate.subject).not.toContain("elsewhere");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]); // a server certificate, not a host's
  expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(certificate.verify(new X509Certificate(world.databaseCa.certificate).publicKey)).toBe(true);
  expect(certificate.validToDate.getTime() - world.time.now.getTime()).toBe(14 * days);
  expect(body.ca).toBe(world.databaseCa.certificate);
});

test("a host gets certificates for its own nodes only, while they are desired, and each is audited", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { spec, databaseId, ask } = await hostWithNode(world, gateway);
  const other = await gateway.enrolledHost();
  const { csr } = await newRequest();

  expect(await gateway.post(other, "/v1/certificate", { node: spec.node, csr })).toMatchObject({ status: 404 });
  expect(await gateway.post(undefined, "/v1/certificate", { node: spec.node, csr })).toMatchObject({ status: 401 });
  const weak = await requestOf({ name: "ECDSA", namedCurve: "P-521" });
  for (const refused of ["nonsense", weak])
    expect(await ask(refused)).toMatchObject({ status: 400, body: { errors: [{ field: "csr" }] } });
  expect((await ask(csr)).status).toBe(200);
  await world.db.updateTable("nodes").set({ tombstoned: true }).execute();
  expect((await ask(csr)).status).toBe(404);

  const issued = (await world.audit()).filter(({ action }) => action === "issue_certificate");
  expect(issued).toMatchObject([{ target: `database/${databaseId}` }]);
});

test("a node's certificate does not authenticate its host", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { spec, ask } = await hostWithNode(world, gateway);
  const { key, csr } = await newRequest();
  const { certificate } = (await ask(csr)).body;

  expect(await gateway.post({ key, certificate }, "/v1/secrets", { node: spec.node })).toMatchObject({ status: 401 });
});

// Both have the same name, as an operator's script sets it: clients must distinguish them by the key.
test("during a change of authority, clients that trust both accept certificates of the new one", async () => {
  await using world = await newWorld();
  const before = await selfSigned("CN=test databases", { authority: true });
  const both = `${before.certificate}\n${world.databaseCa.certificate}`;
  await using gateway = await startGateway(world, { databaseCa: both });
  const { databaseId, ask } = await hostWithNode(world, gateway);
  const { key, csr } = await newRequest();
  const { certificate, ca } = (await ask(csr)).body;
  expect(ca).toBe(both);

  const server = createServer({ key, cert: certificate }, (socket) => socket.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const meet = async (servername: string, trusted: string): Promise<TLSSocket> => {
    const socket = connect({ host: "127.0.0.1", port, servername, ca: trusted });
    await once(socket, "secureConnect");
    return socket.destroy();
  };
  const name = `db-${databaseId}-mysql-primary.${ZONE}`;
  await meet(name, both);
  await expect(meet(name, before.certificate)).rejects.toThrow(/verify|certificate/);
  await expect(meet(`db-9-mysql-primary.${ZONE}`, both)).rejects.toThrow(/altnames/);
  server.close();
});
