import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runStatement, type Door, knock, lookUp, clientA, clientB } from "../kit/client.ts";
import {
  type Cluster,
  serverBehindProxy,
  makeCluster,
  membersOf,
  othersThan,
  rowsAt,
  THREE_NODES,
  untilHealthy,
  untilReceipt,
} from "../kit/cluster.ts";
import { frozen, killed } from "../kit/cluster-faults.ts";
import { hostDir } from "../kit/host.ts";
import { brokenInvariants } from "../kit/invariants.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const alice = tenant();
const [a, b] = [clientA(), clientB()];
const LONG = 3_600_000;

/** The tests are parts of one cluster's lifecycle, in this order. */
let cluster: Cluster;
let gone = false;

beforeAll(async () => {
  await allowDeletions(100);
  cluster = await makeCluster(alice, unique("three"), { allow_list: [a.address] });
  await sql(cluster.door, SHOP);
});
afterAll(async () => {
  if (!gone) await alice.deleteSurely(cluster.id);
});

const sql = (door: Door, statement: string): Promise<string> => runStatement(a, door, statement);
const errorOf = (work: Promise<string>): Promise<string> =>
  work.then(
    (answer) => `answered ${answer}`,
    (error: Error & { stderr?: string }) => error.stderr ?? String(error),
  );
const eventsOf = async (id: number, action: Event["action"]): Promise<Event[]> =>
  (await alice.events(id)).filter((event) => event.action === action);
const healthy = async (): Promise<Cluster> => (cluster = await untilHealthy(alice, cluster.id, 180));
const serverOf = async ({ primary }: Cluster): Promise<string> =>
  (await rowsAt<{ uuid: string }>(primary, "select @@server_uuid as uuid"))[0]?.uuid ?? "";

const SHOP =
  "create database shop; create table shop.notes (id int auto_increment primary key, note text); insert into shop.notes (note) values ('first')";
const NOTES = "select group_concat(note order by id) as notes from shop.notes";
/** For a write that is repeated: an attempt without an answer may have been committed. */
const insertOnce = (note: string): string =>
  `insert into shop.notes (note) select '${note}' from dual where not exists (select 1 from shop.notes where note = '${note}')`;

test("three nodes are one database: written by hostname, read from its replicas at another port", async () => {
  const { id, door, members } = cluster;
  const view = (await alice.view(id)).body;
  expect(view).toMatchObject({ status: "active", cluster_size: 3, replication_type: "semi_synch" });
  expect(view.read_only_port).toBe(door.port + 8192);
  expect(new Set(members.map(({ host }) => host)).size).toBe(3);
  expect(await lookUp(a, door.name, "A")).toEqual(members.map(({ address }) => address).sort());

  const primary = await serverOf(cluster);
  for (const { address } of members) expect(await serverBehindProxy(door, address)).toBe(primary);

  const reading = { ...door, port: view.read_only_port ?? 0 };
  const servers = new Set<string>();
  for (let n = 0; n < 6; n++) servers.add(await sql(reading, "select @@server_uuid"));
  // On a busy machine a proxy may leave out a secondary for a moment.
  await until("both secondaries are read", 60, async () => {
    servers.add(await sql(reading, "select @@server_uuid"));
    return servers.size >= 2;
  });
  expect(servers.size).toBe(2);
  expect(servers).not.toContain(primary);
  await until("the row is at the secondaries", 10, async () => (await sql(reading, NOTES)) === "first");
  expect(await errorOf(sql(reading, "insert into shop.notes (note) values ('astray')"))).toMatch(/read-only/);

  await sql(door, "create table shop.keyless (note text); insert into shop.keyless values ('has one all the same')");
  expect(
    await sql(
      door,
      "select column_name from information_schema.columns where table_name = 'keyless' and extra like '%INVISIBLE%'",
    ),
  ).toBe("my_row_id");
});

test("a killed primary is replaced, and an event reports how long that took and what was lost", async () => {
  const { id, door, primary } = cluster;
  const before = await serverOf(cluster);

  const at = await killed.strike(primary);

  await until("a write is accepted by name", 60, async () => {
    await sql(door, insertOnce("second"));
    return true;
  });
  const [receipt] = await until("the event reports it", 60, async () => {
    const events = await eventsOf(id, "database_failover");
    return events.length > 0 && events;
  });
  expect(receipt?.message).toMatch(/Transactions lost: 0\./);
  expect(receipt?.message).toMatch(/failure detected after \d+ ms/);
  expect(receipt?.message).toMatch(/clients forwarded to node \d after \d+ ms/);

  const after = await healthy();
  expect(await serverOf(after)).not.toBe(before);
  expect(await sql(door, NOTES)).toBe("first,second");
  expect(await eventsOf(id, "database_failover")).toHaveLength(1);
  expect(await untilReceipt(alice, id, at)).toMatchObject({
    planned: false,
    from_node: primary.ordinal,
    to_node: after.primary.ordinal,
    transactions_lost: 0,
    phases: { missed: expect.any(Number), elected: expect.any(Number), led: expect.any(Number) },
  });
});

test("with one member down it is degraded and continues, and is active again when the member is back", async () => {
  const { id, door, primary, members } = cluster;
  const [secondary] = othersThan(primary, members);
  if (secondary === undefined) throw new Error("It has no secondary.");
  const earlier = (await eventsOf(id, "database_degraded")).map((event) => event.id);

  await frozen.strike(secondary);
  try {
    await alice.untilStatus(id, "degraded", 90);
    await sql(door, "insert into shop.notes (note) values ('third')");
    expect((await alice.notifications()).some(({ entity }) => entity?.id === id)).toBe(true);
    expect(await alice.act(id, "switchover")).toMatchObject({ status: 400 });
  } finally {
    await frozen.heal(secondary);
  }

  await healthy();
  await until("what it missed is there", 30, async () => {
    return (await rowsAt(secondary, "select note from shop.notes")).length === 3;
  });
  const news = (await eventsOf(id, "database_degraded")).filter((event) => !earlier.includes(event.id));
  const statuses = news.map(({ status }) => status);
  expect(statuses).toContain("notification");
  expect(statuses).toContain("finished");
  expect((await alice.notifications()).every(({ entity }) => entity?.id !== id)).toBe(true);
});

test("an allow list is in force at all proxies, for both ports", async () => {
  const { id, door, members } = cluster;
  const { read_only_port } = (await alice.view(id)).body;
  const ports = [door.port, read_only_port ?? 0];
  const knocks = async (machine: typeof a) => {
    const found = members.flatMap(({ address }) => ports.map((port) => knock(machine, address, port)));
    return [...new Set(await Promise.all(found))];
  };
  expect([await knocks(a), await knocks(b)]).toEqual([["open"], ["silent"]]);

  await alice.admit(id, [b.address]);

  expect([await knocks(a), await knocks(b)]).toEqual([["silent"], ["open"]]);
  for (const { address, peerPort } of members) expect(await knock(b, address, peerPort)).not.toBe("open");
  await alice.admit(id, [a.address]);
});

test(
  "it is suspended, resumed, switched over, backed up, restored and deleted, and nothing is left",
  async () => {
    const { id, door, primary } = cluster;
    const notes = "first,second,third";

    await alice.actAndWait(id, "switchover", "database_switchover");
    expect((await healthy()).primary.node).not.toBe(primary.node);
    expect(await sql(door, NOTES)).toBe(notes);

    await alice.actAndWait(id, "suspend", "database_update");
    const knocks = (await membersOf(id)).map(({ address }) => knock(a, address, door.port));
    expect(await Promise.all(knocks)).toEqual(["silent", "silent", "silent"]);
    await alice.actAndWait(id, "resume", "database_update", undefined, 300);
    await healthy();
    expect(await sql(door, NOTES)).toBe(notes);

    await alice.actAndWait(id, "backups", "database_backup_create", { label: "before", target: "secondary" }, 300);
    await sql(door, "insert into shop.notes (note) values ('after the backup')");
    const [backup] = await alice.backups(id);
    await alice.actAndWait(id, `backups/${backup?.id}/restore`, "database_backup_restore", undefined, 600);
    const restored = await healthy();
    expect(await sql(door, NOTES)).toBe(notes);
    for (const member of restored.members) expect(await rowsAt(member, NOTES)).toEqual([{ notes }]);

    const members = await membersOf(id);
    expect((await alice.delete(id)).status).toBe(200);
    await alice.untilEvent(id, "database_delete", 180);
    gone = true;
    await until("rows and hosts agree", 60, async () => (await brokenInvariants()).length === 0);
    for (const { host, node } of members) {
      const proxies = await readdir(join(hostDir(host), "proxies")).catch(() => []);
      expect(proxies.filter((name) => name.startsWith(node.slice(0, 8)))).toEqual([]);
    }
    expect(
      await query(
        "select 1 from members m join nodes n on n.id = m.node_id where n.database_id = $1 and n.released_at is null",
        [id],
      ),
    ).toEqual([]);
  },
  LONG,
);

test("three nodes that are too small, or not replicated, are refused with the valid values", async () => {
  const refused = async (change: object) => {
    const { status, body } = await alice.create(unique("refused"), undefined, { ...THREE_NODES, ...change });
    return [status, JSON.stringify(body)];
  };
  expect(await refused({ type: env("MOORAGE_TYPE") })).toEqual([400, expect.stringContaining("m1-medium")]);
  expect(await refused({ replication_type: "none" })).toEqual([400, expect.stringContaining("replication_type")]);
});
