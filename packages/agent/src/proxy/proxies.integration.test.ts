import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readOnlyPortOf } from "@moorage/contract/agent";
import { watchPauses } from "@moorage/testkit/pauses.ts";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../testing/test-host.ts";
import { makeThreeHosts, type ThreeHosts } from "../testing/three-hosts.ts";

// A real group of three, real proxies and gatekeepers; the clients are outside the hosts.
let three: ThreeHosts;
const port = 20_051;
const everywhere = [0, 1, 2];

beforeAll(async () => {
  three = await makeThreeHosts("moor-t-cg", { subnets: [68, 69, 70], lan: 71, port });
  three.setDesired(() => ({ firewall: { sources: ["0.0.0.0/0"] } }));
  three.cluster((index) => (index === 0 ? { bootstrap: randomUUID() } : {}));
  await until("three members", () => everywhere.every(three.isReached));
  three.cluster(() => ({ bootstrap: undefined }));
  await isWhole();
});
afterAll(async () => three?.close());

const isWhole = () =>
  until("a whole group", async () => {
    const views = await Promise.all(everywhere.map(three.views));
    return views.every((each) => each?.primary !== undefined && each.own.online.length === 3);
  });
const addressOf = async (session: Connection): Promise<string> => {
  const [rows] = await session.query<RowDataPacket[]>({ sql: "SELECT @@report_host AS it", timeout: 30_000 });
  return rows[0]?.["it"];
};
/** The member that a new client of this proxy reaches; -1: none. */
async function routedTo(index: number, toPort = port): Promise<number> {
  const session = await three.logIn(index, toPort).catch(() => undefined);
  try {
    const address = session === undefined ? undefined : await addressOf(session).catch(() => undefined);
    return three.members.findIndex((member) => member.address === address);
  } finally {
    session?.destroy();
  }
}
/** The first member that a client of this proxy reaches. */
async function leadsTo(index: number, toPort = port): Promise<number> {
  let member = -1;
  await until("a member", async () => {
    member = await routedTo(index, toPort);
    return member !== -1;
  });
  return member;
}
/** A session, as soon as the proxy accepts one. */
async function hold(index: number, toPort = port, from?: string) {
  const session = await three.session(index, toPort, from);
  const held = { session, endedAt: 0 };
  session.on("error", () => (held.endedAt ||= performance.now()));
  return held;
}
const primary = async (): Promise<number> => {
  let member = -1;
  await until("a primary", async () => {
    const found = (await three.views(0))?.primary;
    member = three.members.findIndex(({ node }) => node === found);
    return member !== -1;
  });
  return member;
};

test("every proxy forwards clients to the primary, and readers to secondaries", async () => {
  const primaryIndex = await primary();
  expect(await Promise.all(everywhere.map((index) => leadsTo(index)))).toEqual([
    primaryIndex,
    primaryIndex,
    primaryIndex,
  ]);
  const readers = await Promise.all(
    [...everywhere, ...everywhere].map((index) => leadsTo(index, readOnlyPortOf(port))),
  );
  expect(readers).not.toContain(primaryIndex);
  expect(readers).not.toContain(-1);
});

/** A proxy closes if its gatekeeper is away for longer; it checks once a second, so one of the 4 s is not certain. */
const RESTART_MS = 3000;
/** A view of a member is valid for two seconds: a machine that stands still longer disconnects clients by design. */
const PAUSE_MS = 1000;

/** Kills and starts the gatekeeper and the agent of each host in turn; returns the longest absence of a gatekeeper. */
async function restartEach(): Promise<number> {
  const absences = [];
  for (const index of everywhere) {
    const host = three.hosts[index] as ThreeHosts["hosts"][number];
    const killed = performance.now();
    await host.stopGatekeeper("SIGKILL");
    host.startGatekeeper();
    await until("the gatekeeper", async () => (await three.views(index))?.primary !== undefined);
    absences.push(performance.now() - killed);
    await host.stopAgent("SIGKILL");
    const heard = host.gateway.messages.length;
    host.startAgent();
    await until("the agent", () => host.gateway.messages.length > heard);
  }
  return Math.max(...absences);
}

test("restarting killed agents and gatekeepers one by one disconnects no client", async () => {
  const holdAll = () => Promise.all(everywhere.flatMap((index) => [hold(index), hold(index, readOnlyPortOf(port))]));
  let held = await holdAll();
  // A machine that is too busy for a restart within the limit repeats it: longer ones disconnect clients by design.
  const restarted = async (): Promise<boolean> => {
    const pauses = watchPauses();
    const absenceMs = await restartEach();
    if (pauses.end() < PAUSE_MS && absenceMs < RESTART_MS) return true;
    for (const { session } of held) session.destroy();
    held = await holdAll();
    return false;
  };
  await until("quick restarts", restarted, 540_000);
  for (const { session } of held) await expect(addressOf(session)).resolves.toBeTypeOf("string");
  expect(held.map(({ endedAt }) => endedAt)).toEqual(held.map(() => 0));
  for (const { session } of held) session.destroy();
});

test("a source removed from the list is disconnected on both ports, also from members of other hosts", async () => {
  const host = three.hosts[1] as ThreeHosts["hosts"][number];
  const ports = [port, readOnlyPortOf(port)];
  const removed = async (): Promise<boolean> => {
    const goes = await Promise.all(ports.map((each) => hold(1, each, host.stranger)));
    const pauses = watchPauses();
    const stays = await Promise.all(ports.map((each) => hold(1, each)));
    three.setDesired(() => ({ firewall: { sources: three.hosts.map(({ outside }) => `${outside}/32`) } }));
    await until("the list", () => everywhere.every(three.isReached));
    await until("their end", () => goes.every(({ endedAt }) => endedAt > 0));
    for (const each of ports) await expect(three.logIn(1, each, host.stranger)).rejects.toThrow("ETIMEDOUT");
    const isJudged = pauses.end() < PAUSE_MS;
    if (isJudged) for (const { session } of stays) await addressOf(session);
    three.setDesired(() => ({ firewall: { sources: ["0.0.0.0/0"] } }));
    await until("the list", () => everywhere.every(three.isReached));
    for (const { session } of stays) session.destroy();
    return isJudged;
  };
  // Repeated if the machine stood still: that may have disconnected the others too.
  await until("a removal without a pause", removed, 540_000);
});

test("after a switchover proxies use the new primary and end old sessions, and each host reports it once", async () => {
  const before = await primary();
  const after = (before + 1) % 3;
  const held = await hold(after);
  const changesBefore = everywhere.map((index) => changesOf(index).length);
  const newChanges = (index: number) => changesOf(index).slice(changesBefore[index]);
  await three.sql(after, "SELECT group_replication_set_as_primary(@@server_uuid)");
  const elected = performance.now();
  const times = await Promise.all(
    everywhere.map(async (index) => {
      await until("the new primary", async () => (await routedTo(index)) === after);
      return performance.now() - elected;
    }),
  );
  process.stdout.write(`proxies reached the new primary after ${times.map((ms) => ms.toFixed(0)).join(", ")} ms\n`);
  expect(Math.max(...times)).toBeLessThan(60_000);
  await until("the end of a session with the old one", () => held.endedAt > 0);
  await until("the news", () => everywhere.every((index) => newChanges(index).length === 1));
  const change = newChanges(0)[0];
  expect(change).toMatchObject({ from: three.members[before]?.node, to: three.members[after]?.node });
  expect(new Set(everywhere.map((index) => newChanges(index)[0]?.view)).size).toBe(1);
  await until("their end", () => everywhere.every((index) => changeFiles(index).length === 0));
});

const changesOf = (index: number) => three.hosts[index]?.gateway.messages.flatMap(({ changes }) => changes ?? []) ?? [];
const changeFiles = (index: number) => readdirSync(join(three.hosts[index]?.state ?? "", "gatekeeper", "changes"));

test("a killed proxy is restarted without a new spec", async () => {
  const before = (await three.proxyPid(2)) as number;
  process.kill(before, "SIGKILL");
  await until("another", async () => ![before, undefined].includes(await three.proxyPid(2)));
  const primaryIndex = await primary();
  await until("its way", async () => (await routedTo(2)) === primaryIndex);
  expect(await three.proxyPid(2)).not.toBe(before);
});

test("if a primary is cut off, its proxy closes, its sessions end, and other proxies use a new primary", async () => {
  const old = await primary();
  const [other] = everywhere.filter((index) => index !== old) as [number];
  const held = [await hold(old), await hold(other)];
  three.cut(old);
  const cut = performance.now();
  await until("the end of sessions", () => held.every(({ endedAt }) => endedAt > 0));
  const ended = held.map(({ endedAt }) => endedAt - cut);
  process.stdout.write(`sessions with the cut primary ended after ${ended.map((ms) => ms.toFixed(0)).join(", ")} ms\n`);
  expect(Math.max(...ended)).toBeLessThan(60_000);
  expect(await routedTo(old)).toBe(-1);
  await until("another primary", async () => ![old, -1].includes(await routedTo(other)));
  process.stdout.write(`clients reached another member ${(performance.now() - cut).toFixed(0)} ms after the cut\n`);
  expect(await routedTo(old)).toBe(-1);
  three.heal(old);
  await until("the way from the old one", async () => (await routedTo(old)) === (await routedTo(other)));
});

test("powering a member off closes its proxy, and the others continue", async () => {
  await isWhole();
  const primaryIndex = await primary();
  const [rests, other] = everywhere.filter((index) => index !== primaryIndex) as [number, number];
  three.setDesired((index) => (index === rests ? { power: "off" } : {}));
  await until("its rest", () => three.latest(rests)?.state === "stopped");
  await expect(three.logIn(rests)).rejects.toThrow("ETIMEDOUT");
  expect(readdirSync(join(three.hosts[rests]?.state ?? "", "proxies"))).toEqual([]);
  expect(await leadsTo(other)).toBe(primaryIndex);
});

test("tombstones leave no proxy, no rule, and no cluster file", async () => {
  three.setDesired(() => ({ tombstone: { operation: 9 } }));
  await until("the end", () => everywhere.every((index) => three.latest(index)?.state === "gone"));
  for (const { state, nft } of three.hosts) {
    expect([...readdirSync(join(state, "proxies")), ...readdirSync(join(state, "gatekeeper", "clusters"))]).toEqual([]);
    expect(nft("list table inet moorage")).not.toContain(String(port));
    await until("what it knew", () => readdirSync(join(state, "gatekeeper", "last-primary")).length === 0);
  }
});
