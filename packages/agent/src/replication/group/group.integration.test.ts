import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, GroupReport, NodeReport } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeThreeHosts, type ThreeHosts } from "../../testing/three-hosts.ts";
import { sh, until } from "../../testing/test-host.ts";
import { inviteForMs } from "../../gatekeeper/choose-invite.ts";
import { recordSteps } from "../member/member-context.ts";

let three: ThreeHosts;
const all = [0, 1, 2] as const;

beforeAll(async () => {
  three = await makeThreeHosts("moor-t-grp", { subnets: [50, 51, 52], lan: 53, port: 20_031 });
});
afterAll(async () => {
  await three?.close();
});

const group = (index: number): GroupReport | undefined => three.latest(index)?.group;
const primary = (): number =>
  all.findIndex((index) => group(index)?.state === "online" && group(index)?.role === "primary");
const secondary = (): number => all.findIndex((index) => group(index)?.role === "secondary");
const areWell = (): boolean =>
  all.every((index) => three.isReached(index) && group(index)?.shared && group(index)?.online === 3);
const areOutOfGroup = (): boolean =>
  all.every((index) => group(index)?.state === "offline" && group(index)?.gtid !== undefined);
/** Counts the reports, from now on, of a member that is in a group or about to be. */
function watchJoins(): () => number {
  const before = three.hosts.map(({ gateway }) => gateway.reports.length);
  const joined = ({ group: its }: NodeReport): boolean => its?.state === "online" || its?.state === "recovering";
  return () => three.hosts.flatMap(({ gateway }, index) => gateway.reports.slice(before[index]).filter(joined)).length;
}
const noOrders = { bootstrap: undefined, reclone: undefined, make_primary: undefined };

async function measured(what: string, awaited: () => Promise<void>): Promise<void> {
  const started = performance.now();
  await awaited();
  console.log(`${what}: ${Math.round(performance.now() - started)} ms`);
}
const allWell = () => until("three healthy members", areWell);

/** A primary is closed to writes from its election until it has applied what it received. */
const isOpen = async (index: number): Promise<boolean> => {
  if (index === -1) return false;
  const [row] = await three.sql<{ closed: number }>(index, "SELECT @@GLOBAL.super_read_only AS closed").catch(() => []);
  return row?.closed === 0;
};
async function write(sql: string): Promise<void> {
  await until("an open primary", () => isOpen(primary()));
  await three.sql(primary(), sql);
}
const values = async (index: number) =>
  (await three.sql<{ a: number }>(index, "SELECT a FROM shop.t ORDER BY a")).map(({ a }) => a);
/** The rows of the members; undefined while the members differ. */
async function rows(): Promise<number[] | undefined> {
  const found = await Promise.all(all.map((index) => values(index).catch(() => undefined)));
  return new Set(found.map((each) => each?.join())).size === 1 ? found[0] : undefined;
}
const soon = { timeout: 240_000 };

async function mostAdvanced(): Promise<number> {
  const gtids = all.map((index) => group(index)?.gtid);
  for (const index of all) {
    const subsets = gtids.map((other) => `GTID_SUBSET('${other}', '${gtids[index]}')`);
    const [row] = await three.sql<{ most: number }>(index, `SELECT ${subsets.join(" AND ")} AS most`);
    if (row?.most === 1) return index;
  }
  throw new Error("There is no most advanced member.");
}

async function grantBootstrap(index: number): Promise<string> {
  const bootstrap = randomUUID();
  three.cluster((each) => ({ ...noOrders, ...(each === index && { bootstrap }) }));
  return bootstrap;
}

test("without a permission no group is bootstrapped; with one, three members join one group", async () => {
  three.setDesired(() => ({ firewall: { sources: ["0.0.0.0/0"] } }));
  await until("three that wait", areOutOfGroup);
  expect(all.map((index) => three.latest(index)?.state)).toEqual(["working", "working", "working"]);

  let bootstrapped = "";
  await measured("the group, from the permission to three healthy members", async () => {
    bootstrapped = await grantBootstrap(0);
    await allWell();
  });
  expect(group(0)).toMatchObject({ bootstrapped, role: "primary", primary: three.hosts[0]?.node });
  expect(new Set(all.map((index) => group(index)?.view)).size).toBe(1);
  three.cluster(() => noOrders);
  await allWell();
});

test("a gatekeeper listens for other hosts on the private address of its host only", () => {
  const listens = (namespace: string) =>
    sh(`ip netns exec ${namespace} ss -Hltn 'sport = :19443' | awk '{ print $4 }'`);
  expect(three.hosts.map(({ namespace }) => listens(namespace))).toEqual(
    three.members.map(({ address }) => `${address}:19443\n`),
  );
});

test("a permission that the server could not use is used later", async () => {
  for (const index of all) three.killServer(index);
  await until("three members outside of a group", areOutOfGroup);
  const most = await mostAdvanced();
  const [row] = await three.sql<{ address: string }>(most, "SELECT @@group_replication_local_address AS address");
  await three.sql(most, "SET GLOBAL group_replication_local_address = '203.0.113.1:33061'");
  const bootstrap = await grantBootstrap(most);
  const wasStarted = async (): Promise<boolean> => {
    const [status] = await three.sql<{ Value: string }>(most, "SHOW GLOBAL STATUS LIKE 'Com_group_replication_start'");
    return Number(status?.Value) > 0;
  };
  await until("it was requested", wasStarted);
  // The server refuses it while it starts or stops its group.
  await until("its own address", () =>
    three.sql(most, `SET GLOBAL group_replication_local_address = '${row?.address}'`).then(
      () => true,
      () => false,
    ),
  );

  await allWell();
  expect(group(most)).toMatchObject({ bootstrapped: bootstrap });
  three.cluster(() => noOrders);
  await allWell();
});

test("a table without a primary key gets one on every member", async () => {
  await write("CREATE DATABASE shop");
  await write("CREATE TABLE shop.t (a INT)");
  await write("INSERT INTO shop.t VALUES (1)");
  await expect.poll(rows, soon).toEqual([1]);
  const [key] = await three.sql<{ n: number }>(
    secondary(),
    "SELECT COUNT(*) AS n FROM information_schema.columns WHERE table_name = 't' AND column_name = 'my_row_id'",
  );
  expect(key?.n).toBe(1);
});

test("a group of an earlier release gets the baseline through its primary, and triggers work", async () => {
  const names = ["kill_session", "kill_query", "require_tenant_session", "generate_invisible_primary_keys"];
  // An agent that finds half of it missing would restore that half.
  for (const host of three.hosts) await host.stopAgent();
  for (const name of names) await write(`DROP PROCEDURE sys.${name}`);
  await write("DROP USER 'moorage_tools'@'localhost'");
  for (const table of ["", "_name", "_transition", "_transition_type"])
    await write(`DELETE FROM mysql.time_zone${table}`);
  for (const index of all) await three.sql(index, "SET GLOBAL log_bin_trust_function_creators = OFF");
  for (const host of three.hosts) host.startAgent();
  const state = `SELECT COUNT(*) AS procedures, @@GLOBAL.log_bin_trust_function_creators AS functions,
    (SELECT COUNT(*) > 500 FROM mysql.time_zone_name) AS zones
    FROM information_schema.routines WHERE routine_schema = 'sys' AND routine_name IN ('${names.join("', '")}')`;
  for (const index of all)
    await expect
      .poll(async () => (await three.sql(index, state))[0], soon)
      .toEqual({ procedures: names.length, functions: 1, zones: 1 });

  const client = await three.session(primary());
  await client.query("CREATE TABLE shop.counted (a INT PRIMARY KEY, b INT)");
  await client.query("CREATE FUNCTION shop.twice(n INT) RETURNS INT RETURN 2 * n");
  await client.query(
    "CREATE TRIGGER shop.fill BEFORE INSERT ON shop.counted FOR EACH ROW SET NEW.b = shop.twice(NEW.a)",
  );
  await client.query("INSERT INTO shop.counted (a) VALUES (21)");
  await expect(client.query("CALL sys.generate_invisible_primary_keys(FALSE)")).rejects.toThrow("three nodes");
  client.destroy();
  const sets = async (): Promise<string[]> =>
    Promise.all(
      all.map(
        async (index) => (await three.sql<{ g: string }>(index, "SELECT @@GLOBAL.gtid_executed AS g"))[0]?.g ?? "",
      ),
    );
  // The same on all members, with the group's name: no member wrote anything of its own.
  await expect.poll(async () => new Set(await sets()).size, soon).toBe(1);
  expect(await three.sql(secondary(), "SELECT b FROM shop.counted")).toEqual([{ b: 42 }]);
  await allWell();
});

test("secondaries take no writes, not even from their own host", async () => {
  await expect(three.sql(secondary(), "INSERT INTO shop.t VALUES (99)")).rejects.toThrow("super-read-only");
});

test("a new password is set once, and reaches all members", async () => {
  for (const { gateway } of three.hosts) gateway.secrets.password = "another horse";
  three.setDesired(() => ({ credentials: { username: "dbadmin", version: 2 } }));
  await allWell();
  for (const index of all) {
    const [row] = await three.sql<{ version: number }>(
      index,
      "SELECT attribute->>'$.moorage.version' AS version FROM information_schema.user_attributes WHERE user = 'dbadmin'",
    );
    expect(Number(row?.version)).toBe(2);
    const client = await three.session(index);
    expect((await client.query("SELECT a FROM shop.t"))[0]).toEqual([{ a: 1 }]);
    client.destroy();
  }
});

test("an order makes a member primary once: not again after a switchover or a restart of its agent", async () => {
  const [first, next] = [primary(), secondary()];
  const makePrimary = randomUUID();
  three.cluster((index) => (index === next ? { make_primary: makePrimary } : {}));
  await measured("the switch", () => until("the new primary", () => primary() === next && areWell()));

  three.cluster((index) => (index === first ? { make_primary: randomUUID() } : {}));
  await until("the first again", () => primary() === first && areWell());
  await three.hosts[next]?.stopAgent();
  three.hosts[next]?.startAgent();
  three.setDesired();
  await allWell();
  expect(primary()).toBe(first);
  three.cluster(() => noOrders);
  await allWell();
});

test("a killed primary is replaced, and rejoins by itself", async () => {
  const before = primary();
  const started = performance.now();
  three.killServer(before);
  await until("another primary", () => primary() !== -1 && primary() !== before);
  console.log(`another primary, as its host reports it: ${Math.round(performance.now() - started)} ms`);
  await write("INSERT INTO shop.t VALUES (2)");
  await allWell();
  console.log(`killed primary, until three healthy members: ${Math.round(performance.now() - started)} ms`);
  await expect.poll(rows, soon).toEqual([1, 2]);
});

test("an isolated member rejoins when the network is restored", async () => {
  const cut = primary();
  three.cut(cut);
  await until("another primary", () => all.some((index) => index !== cut && group(index)?.role === "primary"));
  await until("it to know", () => group(cut)?.state === "error" || group(cut)?.state === "offline");
  await until("it to work on it", () => three.latest(cut)?.state === "working");
  three.heal(cut);
  await measured("healed, until three healthy members", allWell);
  await expect.poll(rows, soon).toEqual([1, 2]);
});

test("a powered-off member leaves the group, and rejoins when it is powered on", async () => {
  const rests = secondary();
  three.setDesired((index) => (index === rests ? { power: "off" } : {}));
  await until("its rest", () => three.latest(rests)?.state === "stopped");
  await until("a group of two", () => all.every((index) => index === rests || group(index)?.online === 2));
  three.setDesired(() => ({ power: undefined }));
  await measured("power, until three healthy members", allWell);
  await expect.poll(rows, soon).toEqual([1, 2]);
});

test("two members that are out of the group rejoin one after the other", async () => {
  const stays = primary();
  const others = all.filter((index) => index !== stays);
  three.setDesired((index) => (index === stays ? {} : { power: "off" }));
  await until("their rest", () => others.every((index) => three.latest(index)?.state === "stopped"));
  await until("a group of one", () => group(stays)?.online === 1);
  // What they missed takes them long enough to be seen while they recover.
  await write("CREATE DATABASE missed");
  await write("CREATE TABLE missed.t (a INT PRIMARY KEY AUTO_INCREMENT, b INT)");
  await write("INSERT INTO missed.t (b) VALUES (0)");
  for (let doubled = 0; doubled < 17; doubled++) await write("INSERT INTO missed.t (b) SELECT b FROM missed.t");
  const started = performance.now();
  let most = 0;
  three.setDesired(() => ({ power: undefined }));
  await until("three healthy members", async () => {
    const [row] = await three.sql<{ joining: number }>(
      stays,
      "SELECT COUNT(*) AS joining FROM performance_schema.replication_group_members WHERE member_state = 'RECOVERING'",
    );
    most = Math.max(most, row?.joining ?? 0);
    return areWell();
  });
  // An invitation passes to the next member when the first one takes longer.
  expect(most === 1 || performance.now() - started > inviteForMs).toBe(true);
  await write("DROP DATABASE missed");
});

test("after all three were killed, no group starts without an unused permission", async () => {
  await write("INSERT INTO shop.t VALUES (3)");
  for (const index of all) three.killServer(index);
  await until("three members outside of a group", areOutOfGroup);
  const joins = watchJoins();
  await sleep(3000); // nothing signals that nothing happens
  // A report of a server that was slow to answer says neither.
  await until("three members outside of a group", areOutOfGroup);
  expect(joins()).toBe(0);

  const most = await mostAdvanced();
  const host = three.hosts[most] as (typeof three.hosts)[number];
  await host.stopAgent();
  host.startAgent({ MOORAGE_CRASH_DIR: host.crash });
  const grantAndDie = async (): Promise<string> => {
    writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: recordSteps.bootstrap, mode: "kill-after" }));
    const given = await grantBootstrap(most);
    await host.agentExit();
    return given;
  };
  const used = await grantAndDie();
  three.killServer(most);
  host.startAgent({ MOORAGE_CRASH_DIR: host.crash });
  await until(
    "the report that it was used",
    () => group(most)?.bootstrapped === used && three.latest(most)?.step === "group",
  );
  await sleep(3000);
  await until("three members outside of a group", areOutOfGroup);
  expect(joins()).toBe(0);

  const started = performance.now();
  // The server that was to bootstrap still runs, and never received the statement.
  await grantAndDie();
  host.startAgent();
  await allWell();
  console.log(
    `all three killed, from the permission to three healthy members: ${Math.round(performance.now() - started)} ms`,
  );
  await expect.poll(rows, soon).toEqual([1, 2, 3]);
});

test("a cluster that is powered off and on again has every write", async () => {
  three.cluster(() => noOrders);
  await allWell();
  await write("INSERT INTO shop.t VALUES (4)");
  three.setDesired(() => ({ power: "off" }));
  await until("their rest", () => all.every((index) => three.latest(index)?.state === "stopped"));
  three.setDesired(() => ({ power: undefined }));
  await until("three members outside of a group", areOutOfGroup);
  await grantBootstrap(await mostAdvanced());
  await allWell();
  await expect.poll(rows, soon).toEqual([1, 2, 3, 4]);
});

test("a member that was replaced while its host was down is removed, and the agent keeps running", async () => {
  const { node, podman, stopAgent, startAgent } = three.hosts[2] as (typeof three.hosts)[number];
  await stopAgent();
  const members = three.members.map((member) => (member.node === node ? { ...member, node: randomUUID() } : member));
  three.setDesired((index) =>
    index === 2 ? { tombstone: { operation: 7 }, cluster: { ...(three.spec(2).cluster as Cluster), members } } : {},
  );
  startAgent();
  await until("its end", () => three.latest(2)?.state === "gone");
  expect(podman("ps", "--all", "--quiet")).toBe("");
});
