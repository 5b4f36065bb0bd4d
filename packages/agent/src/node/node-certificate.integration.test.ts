import { randomUUID, X509Certificate } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import type { NodeSpec } from "@moorage/contract/agent";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

const password = "correct horse ' battery";
const name = "db-1-mysql-primary.moorage.test";
const tls = { names: [name, "db-1-mysql-primary-private.moorage.test"], version: 1 };

let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
const node = randomUUID();
const spec = (change: Partial<NodeSpec> = {}): NodeSpec =>
  testSpec({
    node,
    engine: builtEngine,
    network: { address: host.address(1), port: 20_001 },
    firewall: { sources: [`${host.outside}/32`] },
    tls,
    ...change,
  });
const running = (generation: number) =>
  until(`running at ${generation}`, () => {
    const report = gateway.latest(node);
    return report?.state === "running" && report.generation === generation;
  });

/** A client that trusts the installation's authority and expects the server to be `as`; "plain": without TLS. */
const open = (as: string, connectTimeout = 120_000): Promise<Connection> =>
  createConnection({
    host: as,
    stream: () => connect(20_001, host.inside),
    user: "dbadmin",
    password,
    connectTimeout,
    ...(as === "plain" ? {} : { ssl: { ca: gateway.databaseCa, verifyIdentity: true } }),
  });
const serialOf = (connection: Connection): string =>
  (connection as unknown as { connection: { stream: TLSSocket } }).connection.stream.getPeerCertificate().serialNumber;
async function servedSerial(connectTimeout?: number): Promise<string> {
  const connection = await open(name, connectTimeout);
  const serial = serialOf(connection);
  await connection.end();
  return serial;
}
const containerId = (): string => host.podman("inspect", "--format", "{{.Id}} {{.State.StartedAt}}", `moorage-${node}`);
const certificateRequests = (): number => gateway.requestedPaths.filter((path) => path === "/v1/certificate").length;

beforeAll(async () => {
  host = await makeTestHost("moor-t-tls", "198.18.78");
  gateway = await startFakeGateway(host.outside, 14444, enrolToken);
  environment = { ...agentEnvironment(host, gateway), MOORAGE_CRASH_DIR: host.crash };
  host.known(node);
  host.startAgent(environment);
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

test("a client with the right authority and name connects; a wrong name and plain text are refused", async () => {
  const renewal = Promise.withResolvers<void>();
  gateway.certificateTerms.push({ days: 1 }, { days: 90, after: renewal.promise });
  gateway.setDesired(spec());
  await running(1);
  const reported = gateway.reports.length;

  // The certificate lasts one day, so the next check requests another, which is held back until now. Not for longer: the
  // agent waits half a minute for an answer.
  const old = await open(name);
  const [before, container] = [serialOf(old), containerId()];
  renewal.resolve();
  const [rows] = await old.query("SHOW STATUS LIKE 'Ssl_version'");
  expect(rows).toMatchObject([{ Value: expect.stringMatching(/^TLSv1\.[23]$/) }]);
  await expect(open("db-2-mysql-primary.moorage.test")).rejects.toThrow(/altnames|does not match/i);
  await expect(open("plain")).rejects.toThrow(/secure transport/i);

  await until("the new certificate to be served", async () => (await servedSerial()) !== before);
  expect(await old.query("SELECT 1")).toBeDefined();
  expect(serialOf(old)).toBe(before);
  expect(containerId()).toBe(container);
  expect(certificateRequests()).toBe(2);
  // It served all the time, and no report said otherwise.
  expect(gateway.reports.slice(reported).filter(({ step = "" }) => /certificate|tls/.test(step))).toEqual([]);
  await old.end();
});

test("key and certificate are one file that only the node's user can read, and the key is never sent", async () => {
  const path = join(host.state, "nodes", node, "tls", "server.pem");
  expect(statSync(path)).toMatchObject({ uid: spec().uid, gid: spec().uid });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const text = readFileSync(path, "utf8");
  expect(text).toContain("BEGIN PRIVATE KEY");
  expect(new X509Certificate(text).subjectAltName).toBe(tls.names.map((each) => `DNS:${each}`).join(", "));
});

// Otherwise the server would use the old one until its next restart, perhaps months later.
test("a higher version replaces the certificate, and a restarted agent loads one that was not loaded yet", async () => {
  const [first, container] = [await servedSerial(), containerId()];
  await host.stopAgent(); // it requested one a moment ago, and would wait before the next request
  writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: "agent.renew.certificate", mode: "kill-after" }));
  // The renewal, after which the agent dies, waits until the agent has reported the new version.
  const renewal = Promise.withResolvers<void>();
  gateway.certificateTerms.push({ days: 1 }, { days: 90, after: renewal.promise });
  host.startAgent(environment);
  gateway.setDesired(spec({ generation: 2, tls: { ...tls, version: 2 } }));
  await running(2);
  const second = await servedSerial();
  expect(second).not.toBe(first);

  renewal.resolve();
  await host.agentExit();
  expect(await servedSerial()).toBe(second);
  host.startAgent(environment);
  await until("the renewed certificate to be served", async () => (await servedSerial()) !== second);
  expect(containerId()).toBe(container);
});

test("without a gateway, a node that lost its container restarts with the certificate that it has", async () => {
  const before = await servedSerial();
  // A new version is desired, and the gateway becomes unreachable before it has answered.
  const requestsBefore = certificateRequests();
  gateway.certificateTerms.push({ days: 90, after: new Promise(() => {}) });
  gateway.setDesired(spec({ generation: 3, tls: { ...tls, version: 3 } }));
  await until("the question", () => certificateRequests() > requestsBefore);
  await host.stopAgent("SIGKILL");
  await gateway.close();
  host.podman("rm", "--force", "--time", "0", `moorage-${node}`);
  host.startAgent(environment);
  const served = () => servedSerial(5000).catch(() => "");
  await until("SQL", async () => (await served()) === before);

  await gateway.open();
  await running(3);
  expect(await servedSerial()).not.toBe(before);
});

test("plain text and TLS are accepted when the tenant does not require TLS", async () => {
  gateway.setDesired(
    spec({ generation: 4, tls: { ...tls, version: 3 }, database: { ...spec().database, ssl_connection: false } }),
  );
  await running(4);
  const plain = await open("plain");
  expect((await plain.query("SHOW STATUS LIKE 'Ssl_version'"))[0]).toMatchObject([{ Value: "" }]);
  await plain.end();
  await servedSerial();
});
