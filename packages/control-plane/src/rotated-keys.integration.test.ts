/** The key of the key ring is replaced while the rows are in use, and the former one is removed. */
import { createRandom, type Random } from "@moorage/testkit/random.ts";
import { trials } from "@moorage/testkit/turns.ts";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createDb, createPool, type Db } from "#platform/db/database.ts";
import { countSealed, nameOf, type Rewrapped, rewrapAll } from "#platform/db/rewrap.ts";
import { createSealer, type Sealer } from "#platform/seal.ts";
import { columnsWith, fillSealed, keyIs, type SealedValue } from "#testing/sealed-rows.ts";
import { newKey, newWorld, type World } from "#testing/world.ts";
import { sealedColumns } from "./sealed-columns.ts";

const KILLS = 20;
const VALUES = trials({ short: 1100, all: 3300 });
const SEED = 20_261_119;
const SECOND_MS = 1000;

const [k1, k2] = [newKey(), newKey()];
const before = createSealer({ current: "k1", keys: { k1 } });
const during = createSealer({ current: "k2", keys: { k1, k2 } });
const after = createSealer({ current: "k2", keys: { k2 } });
const forEver = (): boolean => false;

const worldOf = () => newWorld({ keyRing: { current: "k1", keys: { k1 } } });

const readSealed = async (db: Db, { column, row }: SealedValue): Promise<string> => {
  const { rows } = await sql<{ sealed: string }>`select ${sql.ref(column.column)} as sealed
    from ${sql.table(column.table)} where ${keyIs(column, row)}`.execute(db);
  return rows[0]?.sealed ?? "";
};

const opened = async (db: Db, sealer: Sealer, value: SealedValue): Promise<string> =>
  sealer.open(value.column.placeOf(value.row), await readSealed(db, value));

/** The columns of which a value does not open without the former key, or opens to something else. */
async function wronglyOpened(db: Db, values: readonly SealedValue[]): Promise<string[]> {
  const wrong = new Set<string>();
  for (const [column, expected] of Map.groupBy(values, (value) => value.column)) {
    const { rows } = await sql<Record<string, unknown> & { sealed: string }>`
      select ${sql.join([...column.key, ...column.also].map((name) => sql.ref(name)))},
        ${sql.ref(column.column)} as sealed from ${sql.table(column.table)}`.execute(db);
    const sealed = new Map(rows.map((row) => [JSON.stringify(column.placeOf(row)), row.sealed]));
    for (const { row, plain } of expected) {
      const place = column.placeOf(row);
      if (after.open(place, sealed.get(JSON.stringify(place)) ?? "") !== plain) wrong.add(nameOf(column));
    }
  }
  return [...wrong];
}

/** As a process: a new value, or a locked one that is read and written back. */
async function change(db: Db, sealer: Sealer, value: SealedValue, plain: string): Promise<void> {
  const { column, row } = value;
  const [table, name] = [sql.table(column.table), sql.ref(column.column)];
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ sealed: string }>`select ${name} as sealed from ${table}
      where ${keyIs(column, row)} for update`.execute(tx);
    expect(sealer.open(column.placeOf(row), rows[0]?.sealed ?? "")).toBe(value.plain);
    await sql`update ${table} set ${name} = ${sealer.seal(column.placeOf(row), plain)}
      where ${keyIs(column, row)}`.execute(tx);
  });
  value.plain = plain;
}

/** Changes rows until it is stopped. Returns how many. */
function keepChanging(db: Db, sealer: Sealer, values: readonly SealedValue[], random: Random) {
  let isStopped = false;
  const done = (async () => {
    let count = 0;
    for (; !isStopped; count++)
      await change(db, sealer, random.oneOf(values), `changed ${count} by ${sealer.keys.current}`);
    return count;
  })();
  return {
    async stop() {
      isStopped = true;
      return done;
    },
  };
}

/** A rotation whose connections PostgreSQL ends after a random number of batches. True: it was killed. */
async function killedRotation(world: World, random: Random, batch: number): Promise<boolean> {
  const name = `rotation-${random.below(1_000_000_000)}`;
  const url = new URL(world.databaseUrl);
  url.searchParams.set("application_name", name);
  const pool = createPool(url.href, 2);
  pool.on("error", () => {});
  const db = createDb(pool);
  let left = 1 + random.below(Math.max(2, Math.floor(VALUES / batch / KILLS)));
  let kill: Promise<unknown> = Promise.resolve();
  const isOver = (): boolean => {
    // Not awaited: it hits the next batch anywhere.
    if (left-- === 0)
      kill = sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`.execute(
        world.db,
      );
    return left < -1;
  };
  try {
    await rewrapAll({ db, sealer: during }, sealedColumns, { isOver, batch });
    return false;
  } catch (error) {
    // Before the kill, nothing may fail.
    if (left >= 0) throw error;
    return true;
  } finally {
    await kill;
    await db.destroy();
  }
}

test(
  "after a rotation with 20 kills and concurrent changes, every value opens without the former key",
  async () => {
    await using world = await worldOf();
    const random = createRandom(SEED);
    const values = await fillSealed(world.db, before, sealedColumns, Math.ceil(VALUES / sealedColumns.length));
    const byOldProcess = values.filter((_, n) => n % 2 === 0);
    const byNewProcess = values.filter((_, n) => n % 2 === 1);
    // A process that was not restarted yet seals under the former key.
    const old = createSealer({ current: "k1", keys: { k1, k2 } });
    const changing = [
      keepChanging(world.db, old, byOldProcess, createRandom(SEED + 1)),
      keepChanging(world.db, during, byNewProcess, createRandom(SEED + 2)),
    ];
    const batch = Math.min(500, Math.max(10, Math.floor(values.length / 200)));
    let [kills, tries] = [0, 0];
    for (; kills < KILLS && tries < KILLS * 20; tries++) if (await killedRotation(world, random, batch)) kills++;
    const changed = await Promise.all(changing.map((each) => each.stop()));

    let last: Rewrapped;
    do last = await rewrapAll({ db: world.db, sealer: during }, sealedColumns, { isOver: forEver, batch });
    while (last.rewrapped > 0);

    expect([kills, last.damaged]).toEqual([KILLS, []]);
    expect(Math.min(...changed)).toBeGreaterThan(0);
    expect(await columnsWith(world.db, "v1.k1.")).toEqual([]);
    expect(await wronglyOpened(world.db, values)).toEqual([]);
  },
  3600 * SECOND_MS,
);

test("a rotation skips a row that is being changed, and overwrites no change", async () => {
  await using world = await worldOf();
  const values = await fillSealed(world.db, before, sealedColumns, 1);
  const value = values.find(({ column }) => column.table === "databases") as SealedValue;
  const { column, row } = value;
  await world.db.transaction().execute(async (tx) => {
    await sql`update databases set admin_password = ${during.seal(column.placeOf(row), "changed meanwhile")}
      where ${keyIs(column, row)}`.execute(tx);
    const { rewrapped } = await rewrapAll({ db: world.db, sealer: during }, sealedColumns, { isOver: forEver });
    expect(rewrapped).toBe(values.length);
  });

  expect(await opened(world.db, after, value)).toBe("changed meanwhile");
});

test("a value that does not open stays as it is and keeps its key needed, and the others are rewrapped", async () => {
  await using world = await worldOf();
  const values = await fillSealed(world.db, before, sealedColumns, 3);
  const [one, other] = values.filter(({ column }) => column.table === "mails") as [SealedValue, SealedValue];
  const foreign = before.seal(["mails", 1], "of another row");
  await sql`update mails set message = ${foreign} where id = ${one.row["id"]}`.execute(world.db);

  const { damaged } = await rewrapAll({ db: world.db, sealer: during }, sealedColumns, { isOver: forEver, batch: 1 });

  expect(damaged).toEqual([`mails.message of ${String(one.row["id"])}`]);
  expect(await readSealed(world.db, one)).toBe(foreign);
  expect(await opened(world.db, after, other)).toBe(other.plain);
  const former = (await countSealed(world.db, sealedColumns)).filter(({ key }) => key === "k1");
  expect(former).toEqual([{ by: "mails.message", key: "k1", count: 1 }]);
});
