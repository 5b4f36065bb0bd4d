import { DatabaseStatus } from "@moorage/contract";
import { selfSigned } from "@moorage/testkit/certificates.ts";
import { expect, test } from "vitest";
import { newWorld } from "#testing/world.ts";

test("the authority is shown in every status but provisioning", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create()).body;
  const view = async (status: DatabaseStatus) => {
    await world.db.updateTable("databases").set({ status }).where("id", "=", id).execute();
    return alice.get<{ ca_certificate: string }>(`/v4/databases/mysql/instances/${id}/ssl`);
  };

  expect(await view("provisioning")).toMatchObject({ status: 400 });
  for (const status of DatabaseStatus.exclude(["provisioning"]).options) {
    const reply = await view(status);
    expect([status, reply.status]).toEqual([status, 200]);
    expect(Buffer.from(reply.body.ca_certificate, "base64").toString()).toBe(world.databaseCa.certificate);
  }
});

test("a database that does not require TLS has no certificate to show", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create({ ssl_connection: false })).body;
  await world.db.updateTable("databases").set({ status: "active" }).where("id", "=", id).execute();

  const reply = await alice.get(`/v4/databases/mysql/instances/${id}/ssl`);

  expect(reply).toMatchObject({ status: 200, body: { ca_certificate: null } });
});

test("during a rotation both authorities are shown", async () => {
  const [before, after] = [
    await selfSigned("CN=a", { authority: true }),
    await selfSigned("CN=b", { authority: true }),
  ];
  await using world = await newWorld({ databaseCa: `${before.certificate}\n${after.certificate}` });
  const alice = await world.customer();
  const { id } = (await alice.create()).body;
  await world.db.updateTable("databases").set({ status: "active" }).where("id", "=", id).execute();

  const { body } = await alice.get<{ ca_certificate: string }>(`/v4/databases/mysql/instances/${id}/ssl`);

  const shown = Buffer.from(body.ca_certificate, "base64").toString();
  expect(shown.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
});

test("a database created without ssl_connection requires TLS, unless the operator configured otherwise", async () => {
  for (const sslConnectionIfOmitted of [true, false]) {
    await using world = await newWorld({ sslConnectionIfOmitted });
    const alice = await world.customer();

    expect((await alice.create()).body.ssl_connection).toBe(sslConnectionIfOmitted);
    for (const ssl_connection of [true, false])
      expect((await alice.create({ ssl_connection })).body.ssl_connection).toBe(ssl_connection);
  }
});
