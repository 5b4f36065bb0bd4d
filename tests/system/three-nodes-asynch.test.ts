import type { Event } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runStatement, clientA } from "../kit/client.ts";
import {
  type Cluster,
  type Member,
  makeCluster,
  othersThan,
  rowsAt,
  untilHealthy,
  untilReceipt,
} from "../kit/cluster.ts";
import { killed } from "../kit/cluster-faults.ts";
import { missingAt, newRun, startWriters } from "../kit/cluster-writers.ts";
import { brokenInvariants } from "../kit/invariants.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { query } from "../kit/records.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const alice = tenant();
const ASYNCH = { replication_type: "asynch", encrypted: true };
/** An asynchronous cluster; the tests are parts of its lifecycle, in this order. */
let cluster: Cluster;
let gone = false;

beforeAll(async () => {
  await allowDeletions(100);
  cluster = await makeCluster(alice, unique("asynch"), ASYNCH);
});
afterAll(async () => {
  if (!gone) await alice.deleteSurely(cluster.id);
});

const sql = (statement: string, port = cluster.door.port): Promise<string> =>
  runStatement(clientA(), { ...cluster.door, port }, statement);
const NOTES = "select group_concat(note order by id) as notes from shop.notes";
/** For a write that is repeated: an attempt without an answer may have been committed. */
const insertOnce = (note: string): string =>
  `insert into shop.notes (note) select '${note}' from dual where not exists (select 1 from shop.notes where note = '${note}')`;
const gtidAt = async (member: Member): Promise<string | undefined> =>
  (await rowsAt<{ gtid: string }>(member, "select @@global.gtid_executed as gtid"))[0]?.gtid;
const failovers = async (): Promise<Event[]> =>
  (await alice.events(cluster.id)).filter(({ action }) => action === "database_failover");

test("it is written by hostname and read from its replicas at another port", async () => {
  const { read_only_port, replication_type } = (await alice.view(cluster.id)).body;
  expect(replication_type).toBe("asynch");

  await sql("create database shop; create table shop.notes (id int auto_increment primary key, note text)");
  await sql("insert into shop.notes (note) values ('first')");

  const readers = read_only_port ?? 0;
  await until("the row is at a replica", 10, async () => (await sql(NOTES, readers)) === "first");
  const [primaryServer] = await rowsAt<{ uuid: string }>(cluster.primary, "select @@server_uuid as uuid");
  expect(await sql("select @@server_uuid", readers)).not.toBe(primaryServer?.uuid);
  await expect(sql("insert into shop.notes (note) values ('astray')", readers)).rejects.toThrow(/read-only/);
});

test("no replica is promoted while the primary is reachable: a switchover loses nothing", async () => {
  for (const body of [{}, { accept_loss: true }])
    expect(await alice.act(cluster.id, "promote", body)).toMatchObject({
      status: 400,
      body: { errors: [{ reason: expect.stringContaining("switchover") }] },
    });
});

test("a switchover on request loses none of the concurrent writes", async () => {
  const run = await newRun(cluster);
  await using writers = await startWriters(cluster, run);
  const at = Date.now();

  await alice.actAndWait(cluster.id, "switchover", "database_switchover");

  await writers.untilAcceptedAfter(Date.now(), 30);
  const { primary } = cluster;
  cluster = await untilHealthy(alice, cluster.id, 60);
  expect(cluster.primary.node).not.toBe(primary.node);
  expect(await missingAt(cluster.primary, run, writers.accepted())).toEqual([]);
  expect(await untilReceipt(alice, cluster.id, at)).toMatchObject({ planned: true, transactions_lost: 0 });
});

test("a replica is promoted in place of a killed primary, and the receipt reports what was lost", async () => {
  const { id, primary } = cluster;
  const before = (await failovers()).length;
  await until("its replicas have everything", 30, async () => {
    const [atPrimary, ...following] = await Promise.all([primary, ...othersThan(primary, cluster.members)].map(gtidAt));
    return following.every((gtid) => gtid === atPrimary);
  });

  const at = await killed.strike(primary);

  await until("a write is accepted by name", 60, async () => {
    await sql(insertOnce("second"));
    return true;
  });
  cluster = await untilHealthy(alice, id, 180);
  expect(cluster.primary.node).not.toBe(primary.node);
  expect(await sql(NOTES)).toBe("first,second");
  expect(await untilReceipt(alice, id, at)).toMatchObject({
    planned: false,
    from_node: primary.ordinal,
    to_node: cluster.primary.ordinal,
    transactions_lost: 0,
  });
  const news = await failovers();
  expect(news).toHaveLength(before + 1);
  expect(news[0]?.message).toMatch(/Transactions lost: 0\./);
});

test("a backup is restored on every member, and a fork of it is a separate cluster", async () => {
  const { id } = cluster;
  await alice.actAndWait(id, "backups", "database_backup_create", { label: "before", target: "secondary" }, 300);
  await sql("insert into shop.notes (note) values ('after the backup')");
  const [backup] = await alice.backups(id);

  await alice.actAndWait(id, `backups/${backup?.id}/restore`, "database_backup_restore", undefined, 600);

  cluster = await untilHealthy(alice, id, 180);
  for (const member of cluster.members)
    await until(`node ${member.ordinal} has the rows of the backup`, 30, async () => {
      const [found] = await rowsAt<{ notes: string }>(member, NOTES);
      return found?.notes === "first,second";
    });

  const fork = await makeCluster(alice, unique("fork"), { ...ASYNCH, fork: { source: id } });
  expect(await runStatement(clientA(), fork.door, NOTES)).toBe("first,second");
  await alice.deleteSurely(fork.id);
  await alice.untilEvent(fork.id, "database_delete", 120);
});

test("its deletion leaves nothing", async () => {
  expect((await alice.delete(cluster.id)).status).toBe(200);
  await alice.untilEvent(cluster.id, "database_delete", 180);
  gone = true;
  await until("rows and hosts agree", 60, async () => (await brokenInvariants()).length === 0);
  expect(await query("select 1 from nodes where database_id = $1 and released_at is null", [cluster.id])).toEqual([]);
});
