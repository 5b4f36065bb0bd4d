import { peerPortOf } from "@moorage/contract/agent";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newPrivateKey, requestFor } from "../base/certificates.ts";
import { type Authority, makeAuthority, signRequest } from "../testing/fake-gateway.ts";
import { startFakeMember } from "../testing/fake-member.ts";
import { makeThreeHosts, type ThreeHosts } from "../testing/three-hosts.ts";
import { until } from "../testing/test-host.ts";
import { followSource } from "./following/following-sql.ts";
import { joinGroup } from "./group/group-sql.ts";
import { takeDataOf } from "./member/member-sql.ts";
import * as x509 from "@peculiar/x509";

/**
 * A server of a cluster that has not joined yet, and somebody who has taken the address of another member. The agents
 * are stopped: the test makes the server do what they would.
 */
let three: ThreeHosts;
let socket: string;
const port = 20_061;
const donor = () => ({ address: three.lan.address(1), port: peerPortOf(port) });
const password = "a secret among members";

beforeAll(async () => {
  three = await makeThreeHosts("moor-t-mim", { subnets: [36, 37, 38], lan: 39, port });
  three.setDesired();
  const prepared = () => three.latest(0)?.state === "working" && three.latest(0)?.step === "group";
  await until("a server that waits for its group", prepared);
  for (const host of three.hosts) {
    await host.stopAgent();
    await host.stopGatekeeper();
  }
  socket = join(three.hosts[0]?.state ?? "", "nodes", three.hosts[0]?.node ?? "", "run", "mysqld.sock");
  // The engine refuses to clone into a server that is closed like a member.
  await three.sql(0, "SET GLOBAL super_read_only = OFF");
  await three.sql(0, "CREATE DATABASE own");
  three.lan.takePlaceOf(1);
});
afterAll(() => three?.close());

async function certified(by: Authority, address: string): Promise<{ key: string; cert: string }> {
  const key = await newPrivateKey();
  const names = new x509.SubjectAlternativeNameExtension([{ type: "ip", value: address }]);
  return { key, cert: await signRequest(by, "node", await requestFor(key), [names]) };
}

/** Certificates for the address that the members connect to, except the last one. */
const identities: [string, () => Promise<{ key: string; cert: string }>][] = [
  [
    "another database's member on the same host",
    async () => certified(await makeAuthority("database-2"), donor().address),
  ],
  ["an authority of the same name", async () => certified(await makeAuthority("database-1"), donor().address)],
  ["another member of the same database", () => certified(three.authority, three.lan.address(2))],
];

const failures = async (): Promise<string> => {
  const [row] = await three.sql<{ error: string }>(
    0,
    "SELECT last_error_message AS error FROM performance_schema.replication_connection_status WHERE channel_name = ''",
  );
  return row?.error ?? "";
};
/** An agent tries again when its server is too busy to accept a session in time. */
async function patiently(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== "ETIMEDOUT") throw error;
    }
  }
}
const databases = async (): Promise<string> =>
  (await three.sql<{ Database: string }>(0, "SHOW DATABASES")).map(({ Database }) => Database).join();

test.each(identities)("a replica sends nothing to %s", async (_, identity) => {
  await using fake = await startFakeMember(donor().address, donor().port, await identity());

  await patiently(() => followSource(socket, donor(), password));
  const isRefused = async () => /certificate|SSL/.test(await failures()) && fake.visits.count > 1;
  await until("a refusal", async () => fake.heard() !== "" || isRefused());
  await three.sql(0, "STOP REPLICA");

  expect(fake.heard()).toBe("");
});

// The engine verifies the authority of a donor only: see ADR 38.
test.each(identities.slice(0, 2))("a member takes no data from %s", async (_, identity) => {
  await using fake = await startFakeMember(donor().address, donor().port, await identity());

  const taking = patiently(() => takeDataOf(socket, donor(), password, AbortSignal.timeout(300_000)));
  await expect(taking).rejects.toThrow(/certificate|SSL/);

  expect(fake.visits.count).toBeGreaterThan(0);
  expect(fake.heard()).toBe("");
  expect(await databases()).toContain("own");
});

// An attempt lasts a minute.
test.each([identities[0], identities[2]] as typeof identities)("a member joins no group of %s", async (_, identity) => {
  await using fake = await startFakeMember(donor().address, donor().port, await identity());

  const joining = patiently(() => joinGroup(socket, `${donor().address}:${donor().port}`, password));
  await expect(joining).rejects.toThrow("active member of the group");

  expect(fake.visits.count).toBeGreaterThan(0);
  expect(fake.heard()).toBe("");
});
