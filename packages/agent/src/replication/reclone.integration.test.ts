import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GroupReport } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { keepBusy } from "../testing/busy-server.ts";
import { sh, until } from "../testing/test-host.ts";
import { makeThreeHosts, type ThreeHosts } from "../testing/three-hosts.ts";
import { recordSteps } from "./member/member-context.ts";

let three: ThreeHosts;
const all = [0, 1, 2] as const;
const last = 2;

const group = (index: number): GroupReport | undefined => three.latest(index)?.group;
const allWell = () =>
  until("three healthy members", () =>
    all.every((index) => three.isReached(index) && group(index)?.shared && group(index)?.online === 3),
  );
const values = async (index: number) =>
  (await three.sql<{ a: number }>(index, "SELECT a FROM shop.t ORDER BY a")).map(({ a }) => a);
const clones = async (index: number) => {
  const [row] = await three.sql<{ state: string; source: string }>(
    index,
    "SELECT state, source FROM performance_schema.clone_status",
  );
  return row;
};

// Encrypted: each member has its own keys, and clones another's data all the same.
beforeAll(async () => {
  three = await makeThreeHosts("moor-t-ren", { subnets: [54, 55, 56], lan: 57, port: 20_032 });
  three.setDesired((index) => ({
    database: { ...three.spec(index).database, encrypted: true },
    cluster: { ...three.spec(index).cluster, ...(index === 0 && { bootstrap: randomUUID() }) } as never,
  }));
  await allWell();
  await three.sql(0, "CREATE DATABASE shop");
  await three.sql(0, "CREATE TABLE shop.t (a INT)");
  await three.sql(0, "INSERT INTO shop.t VALUES (1)");
});
afterAll(async () => {
  await three?.close();
});

test("a member with errant transactions stays out, reports them and waits to be re-cloned", async () => {
  const host = three.hosts[last] as (typeof three.hosts)[number];
  await host.stopAgent();
  for (const sql of ["STOP GROUP_REPLICATION", "SET GLOBAL read_only = OFF", "CREATE DATABASE errant"])
    await three.sql(last, sql);
  host.startAgent();
  const [{ uuid } = { uuid: "" }] = await three.sql<{ uuid: string }>(last, "SELECT @@server_uuid AS uuid");
  await until("what is too much", () => group(last)?.errant !== undefined);
  expect(group(last)).toMatchObject({ state: "offline", errant: expect.stringContaining(uuid) });
  await until("the step that waits", () => three.latest(last)?.step === "group");
  expect(three.latest(last)).toMatchObject({ state: "working", step: "group" });
  await three.sql(0, "INSERT INTO shop.t VALUES (2)");

  const started = performance.now();
  three.cluster((index) => (index === last ? { reclone: { id: randomUUID() } } : {}));
  await allWell();
  console.log(`a member re-cloned and back in the group: ${Math.round(performance.now() - started)} ms`);
  expect(await values(last)).toEqual([1, 2]);
  expect(await three.sql(last, "SHOW DATABASES LIKE 'errant'")).toEqual([]);
  expect(await clones(last)).toMatchObject({
    state: "Completed",
    // The secondary, unless it was slow to answer when the donor was chosen.
    source: expect.stringMatching(`^(${three.lan.address(0)}|${three.lan.address(1)}):`),
  });
  expect(group(last)?.errant).toBeUndefined();
});

test("a re-clone is done once, however often its spec is sent", async () => {
  const before = await clones(last);
  three.setDesired();
  await allWell();
  expect(await clones(last)).toEqual(before);
});

test("an interrupted re-clone is completed even if the spec no longer requests it", async () => {
  const host = three.hosts[last] as (typeof three.hosts)[number];
  await host.stopAgent();
  host.startAgent({ MOORAGE_CRASH_DIR: host.crash });
  writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: recordSteps.reclone, mode: "kill-after" }));
  three.cluster((index) => (index === last ? { reclone: { id: randomUUID(), donor: three.members[0]?.node } } : {}));
  await host.agentExit();
  three.cluster(() => ({ reclone: undefined }));
  host.startAgent();
  await allWell();
  expect(await values(last)).toEqual([1, 2]);
});

test("a member waits while its donor is being copied by another", async () => {
  const donor = three.hosts[0] as (typeof three.hosts)[number];
  const busy = keepBusy(nodePaths(hostPaths(donor.state), donor.node));
  try {
    let orderedAt = 0;
    await until("its waiting", () => {
      const report = three.latest(last);
      // Between two copies of the donor the member may get its own: then it is ordered to re-clone once more.
      if (report?.state === "running" && Date.now() - orderedAt > 15_000) {
        three.cluster((index) => (index === last ? { reclone: { id: randomUUID(), donor: donor.node } } : {}));
        orderedAt = Date.now();
      }
      return report?.message?.includes("another copy") === true;
    });
    await until("the step that waits", () => three.latest(last)?.step === "group");
    expect(three.latest(last)).toMatchObject({ state: "working", step: "group" });
  } finally {
    await busy.end();
  }
  await allWell();
  expect(await values(last)).toEqual([1, 2]);
});

test("a member whose volume is lost re-clones by itself", async () => {
  const { node, state, podman, stopAgent, startAgent } = three.hosts[last] as (typeof three.hosts)[number];
  const [image, volume] = [join(state, "volumes", `${node}.img`), join(state, "nodes", node, "volume")];
  await stopAgent();
  podman("kill", "--signal", "KILL", `moorage-${node}`);
  sh(`until umount ${volume}; do sleep 0.1; done; losetup -j ${image} | cut -d: -f1 | xargs losetup -d; rm ${image}`);
  await until("its being missed", () => group(0)?.online === 2);
  const started = performance.now();
  startAgent();
  await until("its being back", () => group(0)?.online === 3);
  await allWell();
  console.log(`a member without a volume, back in the group: ${Math.round(performance.now() - started)} ms`);
  expect(await values(last)).toEqual([1, 2]);
});

const onOtherData = (ordinal: number) =>
  three.setDesired((index) => (index === last ? { data: { timeline: randomUUID(), ordinal, origin: "cluster" } } : {}));

test("a member that was offline while its cluster was restored re-clones without an order", async () => {
  onOtherData(1);
  await allWell();
  expect(await values(last)).toEqual(await values(0));
  expect(await clones(last)).toMatchObject({ state: "Completed" });
});

test("a host that never had the member re-clones in the same way", async () => {
  const { node, state, podman, stopAgent, startAgent } = three.hosts[last] as (typeof three.hosts)[number];
  const folder = join(state, "nodes", node);
  await stopAgent();
  podman("rm", "--force", "--time", "0", `moorage-${node}`);
  sh(`while grep -q ${folder} /proc/mounts; do grep -o "${folder}[^ ]*" /proc/mounts | xargs -r umount; done`);
  sh(`losetup -O NAME,BACK-FILE | grep ${node} | cut -d' ' -f1 | xargs -r losetup -d; rm -r ${folder}`);
  sh(`rm ${join(state, "volumes", node)}*`);
  await until("its being missed", () => group(0)?.online === 2);
  onOtherData(2);
  startAgent();
  await until("its being back", () => group(0)?.online === 3);
  await allWell();
  expect(await values(last)).toEqual(await values(0));
  expect(await clones(last)).toMatchObject({ state: "Completed" });
});

test("no data of an encrypted cluster are on a disk in clear", async () => {
  await three.sql(0, "INSERT INTO shop.t VALUES (3)");
  const marker = "only for members 8a1f";
  await three.sql(0, "CREATE TABLE shop.texts (t TEXT)");
  await three.sql(0, `INSERT INTO shop.texts VALUES ('${marker}')`);
  await until("the row", async () => (await three.sql(last, "SELECT t FROM shop.texts").catch(() => [])).length === 1);
  await three.sql(last, "FLUSH LOCAL TABLES shop.texts").catch(() => {});
  const { node, state } = three.hosts[last] as (typeof three.hosts)[number];
  expect(sh(`grep -rlF '${marker}' ${join(state, "nodes", node, "volume")} || true`)).toBe("");
});
