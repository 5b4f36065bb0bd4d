import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { countMissing, type GroupReport, parseGtidSet, type PrimaryTerm } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clocksDifferMs } from "../../archive/archived-time.ts";
import { endPrimary } from "../../testing/end-primary.ts";
import { keepArchive, type KeptArchive } from "../../testing/kept-archive.ts";
import { until } from "../../testing/test-host.ts";
import { makeThreeHosts, type ThreeHosts } from "../../testing/three-hosts.ts";
import { recordSteps } from "../member/member-context.ts";

let three: ThreeHosts;
let kept: KeptArchive;
const all = [0, 1, 2] as const;
let term = 0;

beforeAll(async () => {
  three = await makeThreeHosts("moor-t-fol", { subnets: [44, 45, 46], lan: 47, port: 20_051 });
  kept = await keepArchive(three);
});
afterAll(async () => {
  await three?.close();
  await kept?.close();
});

const group = (index: number): GroupReport | undefined => three.latest(index)?.group;
const nodeOf = (index: number): string => three.members[index]?.node ?? "";
const hostOf = (index: number) => three.hosts[index] as (typeof three.hosts)[number];

/** A new term with this member as its primary. */
function makePrimary(index: number, reason: PrimaryTerm["reason"], from?: number): void {
  term += 1;
  const primary = { node: nodeOf(index), term, reason, ...(from !== undefined && { from: nodeOf(from) }) };
  three.setDesired((each) => {
    const { cluster, database } = three.spec(each);
    if (cluster === undefined) throw new Error("no cluster");
    return {
      database: { ...database, replication_type: "asynch" },
      cluster: { ...cluster, replication: "asynch", primary },
      firewall: { sources: ["0.0.0.0/0"] },
      data: { timeline: kept.timeline, ordinal: 0, origin: "prepared" },
      archive: kept.archiveOf(each === 2),
    };
  });
}
const isWell = (index: number): boolean =>
  three.isReached(index) && group(index)?.term === term && group(index)?.shared === true && group(index)?.online === 3;
const isPrimary = (index: number): boolean => group(index)?.role === "primary" && group(index)?.term === term;
const allWell = (primary: number) => until("a primary and two replicas", () => all.every(isWell) && isPrimary(primary));

const uuidOf = async (index: number): Promise<string> => {
  const [row] = await three.sql<{ uuid: string }>(index, "SELECT @@server_uuid AS uuid");
  return row?.uuid ?? "";
};
const executed = async (index: number) => {
  const [row] = await three.sql<{ gtid: string }>(index, "SELECT @@GLOBAL.gtid_executed AS gtid");
  return parseGtidSet(row?.gtid ?? "");
};
const allArchived = async (primary: number) => {
  const has = await executed(primary);
  await until("everything in the archive", () => countMissing(has, kept.archived()) === 0);
};
const isOpen = async (index: number): Promise<boolean> => {
  const [row] = await three.sql<{ closed: number }>(index, "SELECT @@super_read_only AS closed").catch(() => []);
  return row?.closed === 0;
};
const values = async (index: number) =>
  (await three.sql<{ a: number }>(index, "SELECT a FROM shop.t ORDER BY a")).map(({ a }) => a);
const insert = (index: number, value: number) => three.sql(index, `INSERT INTO shop.t VALUES (${value})`);
const soon = { timeout: 240_000 };
async function haveAll(expected: number[]): Promise<void> {
  const found = () => Promise.all(all.map(values)).catch(() => []);
  await expect.poll(found, soon).toEqual([expected, expected, expected]);
}

/** Queries all three members repeatedly, and counts the moments at which two were open. */
function watchOpen() {
  const seen = { polls: 0, two: 0 };
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      const open = [];
      for (const index of all) if (await isOpen(index)) open.push(index);
      // The one that was queried first may have been closed before the other was opened.
      if (open.length > 1 && (await isOpen(open[0] as number))) seen.two += 1;
      seen.polls += 1;
      await sleep(20);
    }
  })();
  return {
    async end(): Promise<typeof seen> {
      stopped = true;
      await watching;
      return seen;
    },
  };
}

/** Writes through the proxies in turn, like a client with several addresses; returns acknowledged rows, longest gap. */
function keepWriting(from: number) {
  const acknowledged: number[] = [];
  let [stopped, gapMs, last, next] = [false, 0, performance.now(), from];
  const writing = (async () => {
    for (let turn = 0; !stopped; turn++) {
      const client = await three.logIn(turn % 3).catch(() => undefined);
      client?.on("error", () => {});
      try {
        while (!stopped && client !== undefined) {
          next += 1;
          await client.query({ sql: `INSERT INTO shop.t VALUES (${next})`, timeout: 5000 });
          acknowledged.push(next);
          gapMs = Math.max(gapMs, performance.now() - last);
          last = performance.now();
        }
      } catch {
        await sleep(20);
      }
      client?.destroy();
    }
  })();
  return {
    acknowledged,
    async end() {
      stopped = true;
      await writing;
      return { acknowledged, gapMs: Math.round(gapMs) };
    },
  };
}

test("the primary of the first term is opened; the others replicate from it and take no writes", async () => {
  makePrimary(0, "fenced");
  await allWell(0);
  expect(group(0)).toMatchObject({ state: "online", primary: nodeOf(0), view: expect.stringMatching(/\.1$/) });
  await three.sql(0, "CREATE DATABASE shop");
  await three.sql(0, "CREATE TABLE shop.t (a INT)");
  await insert(0, 1);
  await haveAll([1]);
  await expect(insert(1, 99)).rejects.toThrow("super-read-only");
  const timeline = three.spec(0).cluster?.group.slice(0, 19);
  const names = await Promise.all(all.map(uuidOf));
  expect(names.map((name) => name.slice(0, 19))).toEqual([timeline, timeline, timeline]);
  const client = await three.session(2);
  expect((await client.query("SELECT @@server_uuid AS uuid"))[0]).toEqual([{ uuid: names[0] }]);
  client.destroy();
});

test("a tenant's triggers and functions and a new baseline reach the replicas", async () => {
  const client = await three.session(0);
  await client.query("CREATE TABLE shop.counted (a INT PRIMARY KEY, b INT)");
  await client.query("CREATE FUNCTION shop.twice(n INT) RETURNS INT RETURN 2 * n");
  await client.query(
    "CREATE TRIGGER shop.fill BEFORE INSERT ON shop.counted FOR EACH ROW SET NEW.b = shop.twice(NEW.a)",
  );
  await client.query("INSERT INTO shop.counted (a) VALUES (21)");
  await expect(client.query("CALL sys.generate_invisible_primary_keys(FALSE)")).rejects.toThrow("three nodes");
  client.destroy();
  // The level last: an agent that sees an older one writes the whole baseline at once.
  await three.sql(0, "DROP PROCEDURE sys.kill_query");
  await three.sql(0, "ALTER USER 'moorage_tools'@'localhost' COMMENT 'baseline 0'");
  const state = `SELECT (SELECT b FROM shop.counted) AS b, COUNT(*) AS procedures
    FROM information_schema.routines WHERE routine_schema = 'sys' AND routine_name = 'kill_query'`;
  for (const index of all)
    await expect.poll(async () => (await three.sql(index, state))[0], soon).toEqual({ b: 42, procedures: 1 });
});

test("a replica archives the primary's transactions and reports until when the archive is complete", async () => {
  await allArchived(0);
  expect(new Set(kept.logs.map(({ node }) => node))).toEqual(new Set([nodeOf(2)]));
  const [id, before] = [randomUUID(), new Date().toISOString()];
  three.setDesired((index) => (index === 2 ? { tasks: [{ id, kind: "ship" }] } : {}));
  const isDone = () => three.latest(2)?.tasks?.some((task) => task.id === id && task.state === "done");
  await until("the job", () => isDone() === true);
  const reported = hostOf(2).gateway.archived.findLast(({ through }) => through !== undefined);
  expect(reported).toMatchObject({ node: nodeOf(2), term });
  const [through, now] = [Date.parse(reported?.through ?? ""), Date.now()];
  expect(through).toBeGreaterThan(Date.parse(before) - 2 * clocksDifferMs);
  expect(through).toBeLessThanOrEqual(now - clocksDifferMs);
  three.setDesired(() => ({ tasks: [] }));
});

test("a switchover under writes loses nothing, and two members are never open at once", async () => {
  const [watched, writer] = [watchOpen(), keepWriting(1000)];
  await until("some writes", () => writer.acknowledged.length > 50);
  makePrimary(1, "handover", 0);
  await allWell(1);
  const before = writer.acknowledged.length;
  await until("writes to the new primary", () => writer.acknowledged.length > before + 50);
  const [{ acknowledged, gapMs }, { polls, two }] = [await writer.end(), await watched.end()];
  console.log(`${acknowledged.length} writes, the longest gap ${gapMs} ms; checked ${polls} times for two primaries`);
  expect(two).toBe(0);
  await expect
    .poll(async () => {
      const found = await Promise.all(all.map(async (index) => new Set(await values(index))));
      return found.map((each) => acknowledged.filter((value) => !each.has(value)));
    }, soon)
    .toEqual([[], [], []]);
  await three.sql(1, "DELETE FROM shop.t WHERE a > 1000");
});

test("a crashed primary is fenced before its end is reported, and stays down until a newer term", async () => {
  const host = hostOf(1);
  await host.stopAgent();
  host.startAgent({ MOORAGE_CRASH_DIR: host.crash });
  const messagesBefore = host.gateway.messages.length;
  await until("its first word", () => host.gateway.messages.length > messagesBefore);
  await allWell(1);
  // Transactions that no other member receives.
  three.cut(1);
  await insert(1, 2);
  writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: recordSteps.fence, mode: "kill-after" }));
  const watched = watchOpen();
  await endPrimary(host, host.node, "SIGKILL", host.agentHasEnded);
  host.startAgent();
  await until("the fence", () => group(1)?.fenced === term);
  await until("what the others have", () => [0, 2].every((index) => group(index)?.gtid !== undefined));
  // Not before: the kernel would still send what the dead server had written.
  three.heal(1);
  await sleep(3000); // nothing signals that nothing happens
  expect(group(1)).toMatchObject({ state: "away", term, fenced: term });
  expect(three.latest(1)).toMatchObject({ state: "working", step: "fence" });
  expect(await Promise.all(all.map(isOpen))).toEqual([false, false, false]);

  const started = performance.now();
  makePrimary(0, "fenced");
  await until("the new primary", () => isPrimary(0) && group(0)?.shared === true);
  console.log(`another primary, from the new term: ${Math.round(performance.now() - started)} ms`);
  await insert(0, 3);
  await until("what only the old primary has", () => group(1)?.errant !== undefined);
  expect(group(1)).toMatchObject({ state: "offline", errant: expect.stringContaining(await uuidOf(1)) });
  expect(await values(1)).toEqual([1, 2]);
  await until("them in the object store", () => group(1)?.saved_errant !== undefined);
  const { errant = "", saved_errant } = group(1) ?? {};
  expect(saved_errant).toMatchObject({ name: expect.stringMatching(/^lost\/3\.[0-9a-f]{16}$/), gtid: errant });
  const text = await kept.textOf(saved_errant?.name ?? "");
  const saved = [...text.matchAll(/GTID_NEXT= '([0-9a-f-]{36}:\d+)'/g)].map(([, gtid]) => gtid);
  expect(saved).toEqual([errant]);
  expect(text.match(/\tWrite_rows: /g)).toHaveLength(1);
  expect((await watched.end()).two).toBe(0);
});

test("a member with errant transactions is re-cloned and then has another server uuid", async () => {
  const name = await uuidOf(1);
  three.cluster((index) => (index === 1 ? { reclone: { id: randomUUID() } } : {}));
  await allWell(0);
  await haveAll([1, 3]);
  await allArchived(0);
  expect(countMissing(kept.archived(), await executed(0))).toBe(0);
  expect(kept.refused).toEqual([]);
  expect(await uuidOf(1)).not.toBe(name);
  expect((await uuidOf(1)).slice(0, 19)).toBe(name.slice(0, 19));
});

test("a primary that crashes while the gateway is unreachable stays primary in its term", async () => {
  const { gateway } = hostOf(0);
  await gateway.close();
  const pid = three.serverPid(0);
  three.killServer(0);
  await until("it to take writes again", async () => three.serverPid(0) !== pid && (await isOpen(0)));
  await gateway.open();
  await insert(0, 4);
  await haveAll([1, 3, 4]);
  await allWell(0);
  expect(group(0)?.fenced).toBeUndefined();
});

test("a crashed primary without errant transactions replicates from the next one", async () => {
  await endPrimary(hostOf(0), nodeOf(0), "SIGKILL", () => group(0)?.fenced === term);
  makePrimary(2, "fenced");
  await allWell(2);
  expect(group(0)?.errant).toBeUndefined();
  await insert(2, 5);
  await haveAll([1, 3, 4, 5]);
});
