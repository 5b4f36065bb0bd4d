import { sql } from "kysely";
import { listEventPage, markSeen } from "../../packages/control-plane/src/events/event-store.ts";
import type { Principal } from "../../packages/control-plane/src/identity/index.ts";
import { createDb, createPool, type Db } from "../../packages/control-plane/src/platform/db/database.ts";
import { withBenchDatabase } from "./bench-database.ts";

const ROUNDS = 200;
const PAGE_SIZE = 100;
const plain = { where: undefined, order: undefined };

/** Compares page 10,000 of a long event history with page 1, and the cost of marking all events seen. */
export const benchEvents = (rows: number): Promise<boolean> =>
  withBenchDatabase("bench_events", async (databaseUrl) => {
    const db = createDb(createPool(databaseUrl, 4));
    const many = await fill(db, 1, rows);
    const few = await fill(db, 2, 600);
    await sql`vacuum analyze`.execute(db);
    const last = Math.min(10_000, Math.floor(rows / PAGE_SIZE));
    const list = (who: Principal, page: number) =>
      listEventPage(db, who, { page, pageSize: PAGE_SIZE }, plain, new Date());
    const [first, deep, small, seenMany, seenFew] = await alternating([
      () => list(many, 1),
      () => list(many, last),
      () => list(few, 1),
      () => markSeen(db, many, rows),
      () => markSeen(db, few, 10),
    ]);
    const ratio = (deep as number) / (first as number);
    console.log(
      `events, ${rows} rows: page 1 ${ms(first)}, page ${last} ${ms(deep)}, ratio ${ratio.toFixed(2)} (goal: at most 1.5)`,
    );
    console.log(
      `an account of 600 events: page 1 ${ms(small)}; of ${rows}: ${((first as number) / (small as number)).toFixed(2)} times that (goal: at most 3)`,
    );
    console.log(
      `mark ${rows} seen ${ms(seenMany)}, 10 seen ${ms(seenFew)}, ratio ${((seenMany as number) / (seenFew as number)).toFixed(2)} (goal: at most 1.3)`,
    );
    await db.destroy();
    return ratio <= 1.5;
  });

const ms = (value: number | undefined): string => `${(value ?? 0).toFixed(2)} ms`;

/**
 * Runs the cases alternately, so that all see the same machine, in a changing order, so that each follows every other;
 * returns medians.
 */
async function alternating(works: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const times: number[][] = works.map(() => []);
  for (let round = -20; round < ROUNDS; round++)
    for (let position = 0; position < works.length; position++) {
      // A step that is coprime to the number of cases visits each case once.
      const index = (round + 20 + position * (1 + (round & 1))) % works.length;
      const work = works[index] as () => Promise<unknown>;
      const started = performance.now();
      await work();
      if (round >= 0) times[index]?.push(performance.now() - started);
    }
  return times.map((each) => each.sort((a, b) => a - b)[ROUNDS / 2] as number);
}

/** An account whose events are spread evenly over the last 80 days. */
async function fill(db: Db, n: number, rows: number): Promise<Principal> {
  await sql`select ensure_event_partitions(now() - interval '81 days', 13)`.execute(db);
  const account = await db
    .insertInto("accounts")
    .values({
      company: `c${n}`,
      email: `c${n}@bench.test`,
      max_databases: 1,
      max_nodes: 1,
      max_memory_mb: 1,
      max_disk_mb: 1,
      event_seq: rows,
      created_at: new Date(),
    })
    .returning(["id", "euuid"])
    .executeTakeFirstOrThrow();
  const user = await db
    .insertInto("users")
    .values({
      account_id: account.id,
      username: `u${n}`,
      email: `u${n}@bench.test`,
      restricted: false,
      created_at: new Date(),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await sql`insert into events (id, account_id, seq, action, status, entity_type, entity_id, entity_label, username, created_at, finished_at)
    select next_event_id(at), ${account.id}, seq, 'database_create', 'finished', 'database', (seq % 1000)::text, 'bench', ${`u${n}`}, at, at
    from (select seq, now() - interval '80 days' * (1 - seq::float8 / ${rows}) as at from generate_series(1, ${rows}::bigint) seq) made`.execute(
    db,
  );
  return {
    accountId: account.id,
    accountUuid: account.euuid,
    userId: user.id,
    username: `u${n}`,
    restricted: false,
    globalGrants: {},
    nameSince: new Date(0),
    tokenId: 0,
    clientId: null,
    confirmedUntil: null,
    scopes: ["*"],
  };
}
