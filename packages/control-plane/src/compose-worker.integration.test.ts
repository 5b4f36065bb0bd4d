import { randomUUID } from "node:crypto";
import { startPowerDns } from "@moorage/testkit/power-dns.ts";
import { Client, Connection, type WorkflowClientInterceptor } from "@temporalio/client";
import { type RawBuilder, sql } from "kysely";
import { expect, test } from "vitest";
import { createPowerDns } from "#dns/index.ts";
import { activeDatabase } from "#testing/active-database.ts";
import { oneImageStore } from "#testing/one-image-store.ts";
import { startObjectStore } from "#testing/object-store.ts";
import { transferFixture } from "#testing/transfer-fixture.ts";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld, REGION, type World, type WorldSettings, ZONE } from "#testing/world.ts";
import { createPurgingImageStores } from "#images/index.ts";

const DAY_MS = 86_400_000;

/** No row can keep another one here. */
const withoutRows: Record<string, string> = {
  eventPartitions: "creates and drops whole partitions, the oldest first",
  providerEvents: "one statement deletes what has expired",
  cardAttempts: "one statement deletes what has expired",
  idempotencyKeys: "one statement deletes what has expired",
  mails: "one statement deletes what has expired",
  chains: "one transaction links a batch of rows",
  logins: "one statement deletes what has expired",
  authRecords: "one statement deletes what has expired",
};

type Two = [first: number | string, second: number | string];
type Case = {
  settings?: (uses: AsyncDisposableStack) => Promise<WorldSettings> | WorldSettings;
  /** Makes two rows due, and returns their ids: the first one is found first. */
  due: (world: World) => Promise<Two>;
  /** Writing such a row (`r`) of a table fails for the first one. Without: it is broken itself. */
  poison?: (first: Two[0]) => [table: string, condition: string];
  isDone: (world: World, id: Two[0]) => Promise<boolean>;
  /** Where its next try is kept, if in a row. */
  next?: (world: World, id: Two[0]) => Promise<Date | null>;
};

const one = oneImageStore();
const withImages = (): WorldSettings => ({ imageStores: one.imageStores });

const cases: Record<string, Case> = {
  clusterHealth: {
    due: async (world) => {
      const two: Two = [(await watchedCluster(world)).database.id, (await watchedCluster(world)).database.id];
      await world.db
        .updateTable("clusters")
        .set({ check_at: minutesAgo(world, 1) })
        .execute();
      return two;
    },
    poison: (first) => ["clusters", `r.database_id = ${first}`],
    isDone: (world, id) => isGone(world, sql`clusters where database_id = ${id} and check_at <= ${world.time.now}`),
  },
  lostHosts: {
    due: async (world) => {
      const two = await twoDatabases(world);
      await world.db.updateTable("hosts").set({ state: "dead" }).execute();
      return two;
    },
    poison: (first) => ["databases", `r.id = ${first}`],
    isDone: async (world, id) => (await world.databaseRow(Number(id))).status === "failed",
  },
  release: {
    due: async (world) => {
      await twoDatabases(world);
      await world.db
        .updateTable("nodes")
        .set({ tombstoned: true, observed_state: "gone", waiting_operation_id: null })
        .execute();
      const [first, second] = (await world.nodes()).map(({ id }) => id).sort();
      return [first as string, second as string];
    },
    poison: (first) => ["nodes", `r.id = '${first}'`],
    isDone: async (world, id) => (await row(world, sql`nodes where id = ${id}`))["released_at"] !== null,
  },
  patches: {
    due: async (world) => {
      const two = await twoDatabases(world);
      for (const [n, id] of two.entries())
        await world.db
          .updateTable("databases")
          .set({ patch_due_at: minutesAgo(world, 2 - n) })
          .where("id", "=", Number(id))
          .execute();
      return two;
    },
    poison: (first) => ["databases", `r.id = ${first} and r.patch_due_at is null`],
    isDone: async (world, id) => (await world.databaseRow(Number(id))).patch_due_at === null,
    next: async (world, id) => (await world.databaseRow(Number(id))).patch_due_at,
  },
  closedAccounts: {
    due: async (world) => {
      const two: Two = [(await world.customer()).accountId, (await world.customer()).accountId];
      for (const [n, id] of two.entries())
        await world.db
          .updateTable("accounts")
          .set({ closed_at: minutesAgo(world, 9), data_until: minutesAgo(world, 2 - n) })
          .where("id", "=", Number(id))
          .execute();
      return two;
    },
    poison: (first) => ["accounts", `r.id = ${first}`],
    isDone: async (world, id) => (await world.account(Number(id))).data_until === null,
  },
  alerts: {
    due: async (world) => {
      const two = await twoDatabases(world);
      for (const { account_id, database_id, id } of await inOrder(world, two))
        await world.db
          .insertInto("node_alerts")
          .values({
            account_id,
            database_id,
            node_id: id,
            kind: "disk",
            detail: JSON.stringify({ disk: "low" }),
            at: world.time.now,
          })
          .execute();
      return two;
    },
    poison: (first) => ["node_alerts", `r.database_id = ${first}`],
    isDone: (world, id) => isGone(world, sql`node_alerts where database_id = ${id}`),
  },
  dailyPoints: {
    due: async (world) => {
      const two = await twoDatabases(world);
      for (const [n, id] of two.entries())
        await world.db
          .updateTable("timelines")
          .set({ next_point_at: minutesAgo(world, 2 - n), archived_through: world.time.now })
          .where("database_id", "=", Number(id))
          .execute();
      return two;
    },
    poison: (first) => ["timelines", `r.database_id = ${first}`],
    isDone: async (world, id) =>
      ((await row(world, sql`timelines where database_id = ${id}`))["next_point_at"] as Date) > world.time.now,
  },
  archivers: {
    due: async (world) => {
      const two: Two = [(await watchedCluster(world)).database.id, (await watchedCluster(world)).database.id];
      await world.db.deleteFrom("archivers").execute();
      return two;
    },
    poison: (first) => ["archivers", `r.timeline_id = (select timeline_id from databases where id = ${first})`],
    isDone: async (world, id) =>
      !(await isGone(world, sql`archivers where timeline_id = (select timeline_id from databases where id = ${id})`)),
  },
  neededCopies: {
    due: async (world) => {
      await twoDatabases(world);
      const two: string[] = [];
      for (const [n, { id }] of (await timelines(world)).entries()) {
        const copy_order_at = minutesAgo(world, 2 - n);
        await world.db.updateTable("timelines").set({ copy_order_at }).where("id", "=", id).execute();
        two.push(id);
      }
      return two as Two;
    },
    poison: (first) => ["timelines", `r.id = '${first}'`],
    isDone: async (world, id) =>
      ((await row(world, sql`timelines where id = ${id}`))["copy_order_at"] as Date) > world.time.now,
  },
  tombstones: {
    due: async (world) => {
      const nodes: string[] = [];
      for (const minutes of [2, 1]) {
        const cluster = await watchedCluster(world);
        const node = (await cluster.nodes())[2] as Awaited<ReturnType<typeof cluster.nodes>>[number];
        await world.db
          .updateTable("nodes")
          .set({ replaced_at: minutesAgo(world, minutes) })
          .where("id", "=", node.id)
          .execute();
        await world.db
          .insertInto("operations")
          .values({
            account_id: node.account_id,
            entity_id: node.database_id,
            kind: "replaceNode",
            input: JSON.stringify({ node: node.id, ordinal: 2 }),
            created_at: world.time.now,
            deadline_at: world.time.now,
            sweep_at: world.time.now,
            settled_at: world.time.now,
          })
          .execute();
        nodes.push(node.id);
      }
      return nodes as Two;
    },
    poison: (first) => ["nodes", `r.id = '${first}'`],
    isDone: async (world, id) => (await row(world, sql`nodes where id = ${id}`))["tombstoned"] === true,
  },
  staleTransfers: {
    due: async (world) => {
      const { offer, web, mail } = await transferFixture(world);
      for (const [n, compute] of [web, mail].entries()) {
        await offer(compute);
        await world.db
          .updateTable("transfers")
          .set({ expires_at: minutesAgo(world, 2 - n) })
          .where("expires_at", ">", world.time.now)
          .execute();
      }
      const found = await world.db.selectFrom("transfers").select("id").orderBy("expires_at").execute();
      return found.map(({ id }) => id) as Two;
    },
    poison: (first) => ["transfers", `r.id = ${first}`],
    isDone: async (world, id) => (await row(world, sql`transfers where id = ${id}`))["status"] === "stale",
  },
  dns: {
    settings: async (uses) => {
      const { settings } = uses.use(await startPowerDns(ZONE));
      // A busy machine may delay an answer, which would fail another row too.
      return { dnsServer: createPowerDns({ ...settings, patienceMs: 60_000 }) };
    },
    due: async (world) => {
      const two = await twoDatabases(world);
      await world.db.updateTable("databases").set({ dns_published_at: null }).execute();
      return two;
    },
    poison: (first) => ["databases", `r.id = ${first}`],
    isDone: async (world, id) => (await world.databaseRow(Number(id))).dns_published_at !== null,
  },
  objects: {
    settings: withObjects,
    due: async (world) => {
      await twoDatabases(world);
      const [first, second] = [randomUUID(), randomUUID()];
      for (const [n, { account_id, id }] of (await timelines(world)).entries())
        await world.db
          .insertInto("copies")
          .values({
            account_id,
            id: n === 0 ? first : second,
            timeline_id: id,
            started_at: minutesAgo(world, 9),
            ended_at: minutesAgo(world, 8),
            gtid: "",
            bytes: 0,
            parts: 0,
            manifest_sha256: "",
            doomed_at: new Date(world.time.now.getTime() - (2 - n) * DAY_MS),
          })
          .execute();
      return [first, second];
    },
    poison: (first) => ["copies", `r.id = '${first}'`],
    isDone: (world, id) => isGone(world, sql`copies where id = ${id}`),
  },
  lostTransactions: {
    settings: withObjects,
    due: async (world) => {
      const two = await twoDatabases(world);
      for (const [n, node] of (await inOrder(world, two)).entries())
        await world.db
          .insertInto("lost_transactions")
          .values({
            account_id: node.account_id,
            database_id: node.database_id,
            timeline_id: (await timelines(world))[n]?.id as string,
            node_id: node.id,
            name: `lost-transactions/${n}`,
            gtid: "",
            transactions: 1,
            bytes: 0,
            sha256: "",
            saved_at: minutesAgo(world, 9),
            expires_at: minutesAgo(world, 2 - n),
          })
          .execute();
      return two;
    },
    poison: (first) => ["lost_transactions", `r.database_id = ${first}`],
    isDone: (world, id) => isGone(world, sql`lost_transactions where database_id = ${id}`),
  },
  purge: {
    settings: withObjects,
    due: async (world) => {
      const two = await twoDatabases(world);
      for (const [n, id] of two.entries())
        await world.db
          .updateTable("databases")
          .set({ deleted_at: new Date(world.time.now.getTime() - 7 * DAY_MS), purge_at: minutesAgo(world, 2 - n) })
          .where("id", "=", Number(id))
          .execute();
      return two;
    },
    poison: (first) => ["timelines", `r.database_id = ${first}`],
    isDone: async (world, id) => (await world.databaseRow(Number(id))).purge_at === null,
    next: async (world, id) => (await world.databaseRow(Number(id))).purge_at,
  },
  removeImages: {
    settings: withImages,
    due: (world) => twoImages(world, (n) => ({ remove_at: minutesAgo(world, 2 - n) })),
    poison: (first) => ["images", `r.id = ${first} and r.deleted_at is not null`],
    isDone: async (world, id) => (await row(world, sql`images where id = ${id}`))["deleted_at"] !== null,
    next: async (world, id) => (await row(world, sql`images where id = ${id}`))["remove_at"] as Date,
  },
  clearImages: {
    settings: withImages,
    due: (world) => twoImages(world, (n) => ({ deleted_at: minutesAgo(world, 2 - n) })),
    poison: (first) => ["images", `r.id = ${first} and r.cleared_at is not null`],
    isDone: async (world, id) => (await row(world, sql`images where id = ${id}`))["cleared_at"] !== null,
    next: async (world, id) => (await row(world, sql`images where id = ${id}`))["clear_at"] as Date,
  },
  sweepImages: {
    settings: (uses) => {
      const { settings } = one.store;
      const away = { ...settings, url: "http://127.0.0.1:9", regions: ["elsewhere"] };
      const imageStores = createPurgingImageStores({ away, home: { ...settings, regions: [] } }, 24);
      uses.defer(() => imageStores.close());
      return { imageStores };
    },
    due: async () => ["away", "home"],
    isDone: async (world, id) =>
      !(await isGone(world, sql`image_sweeps where store = ${id} and swept_at = ${world.time.now}`)),
  },
  charges: {
    due: async (world) => {
      const two: Two = [(await world.customer()).accountId, (await world.customer()).accountId];
      for (const [n, id] of two.entries())
        await world.db
          .insertInto("autopay")
          .values({ account_id: Number(id), declines: 0, due_at: minutesAgo(world, 2 - n) })
          .execute();
      return two;
    },
    poison: (first) => ["autopay", `r.account_id = ${first}`],
    isDone: (world, id) => isGone(world, sql`autopay where account_id = ${id}`),
  },
  monthEnd: {
    settings: () => ({ temporal: refusing((workflowId) => workflowId === "month-end-2026-01-1") }),
    due: async (world) => {
      await world.customer();
      for (const first_account of [1, 2])
        await world.db
          .insertInto("billing_runs")
          .values({ month: "2026-01-01", first_account, last_account: first_account, created_at: world.time.now })
          .execute();
      return ["month-end-2026-01-1", "month-end-2026-01-2"];
    },
    isDone: async (_world, id) => started.has(String(id)),
  },
};

test("every job is in one of the two tables", async () => {
  await using world = await newWorld();
  expect([...Object.keys(cases), ...Object.keys(withoutRows)].sort()).toEqual(world.jobNames.toSorted());
});

test.each(Object.entries(cases))(
  "%s: a row that fails is put off and counted, and keeps no other",
  async (job, each) => {
    await using uses = new AsyncDisposableStack();
    await using world = await newWorld(await each.settings?.(uses));
    const [first, second] = await each.due(world);
    if (each.poison !== undefined) await poison(world, ...each.poison(first));

    await world.run(job as Parameters<World["run"]>[0]);

    expect([await each.isDone(world, first), await each.isDone(world, second)]).toEqual([false, true]);
    expect([...world.stuck()].filter(([, rows]) => rows > 0)).toEqual([[job, 1]]);
    const inAMinute = minutesAgo(world, -1);
    expect((await each.next?.(world, first)) ?? inAMinute).toEqual(inAMinute);
    // It is not stuck for ever.
    if (each.poison === undefined) return;
    await sql.raw(`drop trigger poison on ${each.poison(first)[0]}`).execute(world.db);
    world.time.now = minutesAgo(world, -1);
    await world.run(job as Parameters<World["run"]>[0]);
    expect(await each.isDone(world, first)).toBe(true);
    expect(world.stuck().get(job)).toBe(0);
  },
);

const poison = async ({ db }: World, table: string, condition: string): Promise<void> => {
  await sql
    .raw(
      `create function poison() returns trigger language plpgsql as $$
        declare r ${table};
        begin
          if tg_op = 'DELETE' then r := old; else r := new; end if;
          if ${condition} then raise exception 'poisoned'; end if;
          return r;
        end $$`,
    )
    .execute(db);
  await sql
    .raw(`create trigger poison before insert or update or delete on ${table} for each row execute function poison()`)
    .execute(db);
};

async function withObjects(uses: AsyncDisposableStack): Promise<WorldSettings> {
  const { purging } = uses.use(await startObjectStore());
  return { archivePurge: purging };
}

const started = new Set<string>();
/** A client whose server refuses some workflows and starts all others. */
function refusing(isRefused: (workflowId: string) => boolean): Client {
  const connection = Connection.lazy({ address: "127.0.0.1:1", connectTimeout: 200, interceptors: [] });
  const interceptor: WorkflowClientInterceptor = {
    async startWithDetails({ options }) {
      if (isRefused(options.workflowId)) throw new Error("refused");
      started.add(options.workflowId);
      return { runId: randomUUID(), eagerlyStarted: false };
    },
  };
  return new Client({ connection, interceptors: { workflow: [interceptor] } });
}

const minutesAgo = ({ time }: World, minutes: number): Date => new Date(time.now.getTime() - minutes * 60_000);

async function twoDatabases(world: World): Promise<Two> {
  const [customer, host] = [await world.customer(), await world.host()];
  return [(await activeDatabase(world, customer, host)).id, (await activeDatabase(world, customer, host)).id];
}

const inOrder = async (world: World, two: Two) => {
  const nodes = await world.nodes();
  return two.map((id) => nodes.find((node) => node.database_id === id) as (typeof nodes)[number]);
};

const timelines = (world: World) => world.db.selectFrom("timelines").selectAll().orderBy("database_id").execute();

async function twoImages(world: World, change: (n: number) => object): Promise<Two> {
  const { accountId } = await world.customer();
  const ids: number[] = [];
  for (const n of [0, 1]) {
    const { id } = await world.db
      .insertInto("images")
      .values({
        account_id: accountId,
        name: null,
        label: "kept",
        description: null,
        created_by: "tester",
        region: REGION,
        status: "available",
        content: randomUUID(),
        created_at: minutesAgo(world, 9),
        updated_at: minutesAgo(world, 9),
        ...change(n),
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    ids.push(id);
  }
  return ids as Two;
}

const row = async ({ db }: World, from: RawBuilder<unknown>): Promise<Record<string, unknown>> =>
  (await sql<Record<string, unknown>>`select * from ${from}`.execute(db)).rows[0] as Record<string, unknown>;
const isGone = async (world: World, from: RawBuilder<unknown>): Promise<boolean> =>
  (await row(world, from)) === undefined;
