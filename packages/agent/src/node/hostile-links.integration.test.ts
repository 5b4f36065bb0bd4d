import { randomUUID } from "node:crypto";
import {
  existsSync,
  lchownSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { setAdminPassword } from "../mysql/node-sql.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, sh, type TestHost, until } from "../testing/test-host.ts";

/** What a process in a node's container could do: its user owns run, keyring and data. */
let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
const [hostile, neighbour] = [randomUUID(), randomUUID()];
const uids = { [hostile]: 200_001, [neighbour]: 200_002 };

const spec = (node: string): NodeSpec =>
  testSpec({
    node,
    engine: builtEngine,
    database: { ...testSpec().database, encrypted: node === hostile },
    network: { address: host.address(node === hostile ? 1 : 2), port: node === hostile ? 20_001 : 20_002 },
    uid: uids[node] ?? 0,
    firewall: { sources: [] },
  });
const folder = (node: string, ...path: string[]) => join(host.state, "nodes", node, ...path);
const socket = (node: string) => folder(node, "run", "mysqld.sock");
const keys = () => folder(hostile, "keyring", "0", "keyring");

function plant(target: string, path: string): void {
  symlinkSync(target, path);
  lchownSync(path, uids[hostile] ?? 0, uids[hostile] ?? 0);
}
const passwordOf = (node: string) =>
  withPatientRoot(socket(node), async (connection) => {
    const [rows] = await connection.query("SELECT authentication_string AS a FROM mysql.user WHERE user = 'dbadmin'");
    return (rows as { a: string }[])[0]?.a;
  });
const runs = (node: string) => until("the node", () => gateway.latest(node)?.state === "running");

beforeAll(async () => {
  host = await makeTestHost("moor-t-link", "198.18.83");
  gateway = await startFakeGateway(host.outside, 14483, enrolToken);
  environment = agentEnvironment(host, gateway);
  for (const node of [hostile, neighbour]) host.known(node);
  host.startAgent(environment);
  gateway.setDesired(spec(hostile), spec(neighbour));
  for (const node of [hostile, neighbour]) await runs(node);
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

test("nothing in a folder that a node's user owns can be executed on the host's behalf, and start-up.sql is not in one", () => {
  const pid = host.podman("inspect", "--format", "{{.State.Pid}}", `moorage-${hostile}`).trim();
  const mounts = readFileSync(`/proc/${pid}/mounts`, "utf8");
  const optionsOf = (path: string) => new RegExp(`^\\S+ ${path} \\S+ (\\S+)`, "m").exec(mounts)?.[1]?.split(",");
  for (const path of ["/run/mysqld", "/keyring", "/volume", "/temporary"])
    expect([path, optionsOf(path)]).toEqual([path, expect.arrayContaining(["rw", "noexec", "nosuid", "nodev"])]);
  expect(optionsOf("/etc/mysql/start-up")).toContain("ro");
  expect(statSync(folder(hostile, "start-up")).uid).toBe(0);
});

test("the host follows no link below a node's volume", () => {
  const link = folder(hostile, "volume", "data", "link");
  plant("/etc/hostname", link);
  expect(() => readFileSync(link)).toThrow(/ELOOP/);
  rmSync(link);
});

test("a link to another node's socket gets that server none of the agent's statements", async () => {
  const before = await passwordOf(neighbour);
  renameSync(socket(hostile), `${socket(hostile)}.own`);
  plant(`../../${neighbour}/run/mysqld.sock`, socket(hostile));
  const reset = setAdminPassword(socket(hostile), { username: "dbadmin", version: 2 }, "the hostile tenant's");
  await expect(reset).rejects.toThrow(/is not a socket of user 200001/);
  rmSync(socket(hostile));
  renameSync(`${socket(hostile)}.own`, socket(hostile));
  expect(await passwordOf(neighbour)).toBe(before);
});

test("a link in place of a keyring reads and writes no file of the host", async () => {
  const victim = join(host.dir, "victim");
  writeFileSync(victim, "a file of the host");
  const [own, sent] = [readFileSync(keys()), gateway.keyrings.get(hostile)];
  await host.stopAgent();
  rmSync(keys());
  plant(join(host.state, "host.key"), keys());
  plant(victim, `${keys()}.tmp`);
  for (const name of ["start-up.sql.tmp", "start-up.sql"]) plant(victim, folder(hostile, "run", name));
  host.podman("kill", "--signal", "KILL", `moorage-${hostile}`);
  host.startAgent(environment);
  await until("a refusal", () => host.log().includes(`${keys()} is not a regular file`));
  expect(gateway.keyrings.get(hostile)).toBe(sent);

  rmSync(keys());
  await until("its server", () => passwordOf(hostile).then(Boolean, () => false));
  expect(readFileSync(keys()).equals(own)).toBe(true);
  expect(readFileSync(victim, "utf8")).toBe("a file of the host");
  expect([statSync(victim).uid, existsSync(`${keys()}.tmp`)]).toEqual([0, false]);
});

test("a pipe in place of a keyring keeps no work of the agent waiting", async () => {
  const own = readFileSync(keys());
  await host.stopAgent();
  rmSync(keys());
  sh(`mkfifo ${keys()}`);
  host.podman("kill", "--signal", "KILL", `moorage-${hostile}`);
  const seen = host.log().length;
  host.startAgent(environment);
  await until("a refusal", () => host.log().slice(seen).includes("is not a regular file"));
  rmSync(keys());
  await until("its server", () => passwordOf(hostile).then(Boolean, () => false));
  expect(readFileSync(keys()).equals(own)).toBe(true);
});
