/** Somebody who owns the database, and does not have the key ring, changes rows that the control plane wrote. */
import { randomBytes } from "node:crypto";
import { createRandom, type Random } from "@moorage/testkit/random.ts";
import { type RawBuilder, sql } from "kysely";
import { expect, test } from "vitest";
import type { Tx } from "#platform/db/database.ts";
import { createLog } from "#platform/log.ts";
import { createSealer } from "#platform/seal.ts";
import { chainedWorld, verifyAll, writeRows } from "#testing/chained-world.ts";
import { readAnchors } from "./anchor.ts";
import { CHAINS, type Chain, hashOf } from "./chain.ts";
import { findHead, inSnapshot, linksAfter, lockChains, newestLink } from "./chain-store.ts";
import { createLinkJob } from "./link-job.ts";
import { verifyIn } from "./verify-page.ts";

const TAMPERINGS = Number(process.env["MOORAGE_TRIALS"] ?? 1000);
const EACH = 16;
/** The only one of them that is found with an anchor alone. */
const CUT_TO_EARLIER_HEAD = "the newest rows are cut off with their links, and an earlier head is put back";
const silent = createLog("test", "silent");
const CHAINED = ["audit", "ledger", "invoices", "invoice_items", "adjustments", "credits"] as const satisfies Chain[];

type Column = { name: string; type: string };
type Target = { tx: Tx; chain: Chain; columns: readonly Column[]; random: Random };

const table = (chain: Chain) => sql.table(`public.${chain}`);
const anyRow = ({ chain, random }: Target, count = 1): RawBuilder<unknown> =>
  sql`(select ctid from ${table(chain)} order by ctid offset ${random.below(EACH * 2 - count)} limit ${count})`;

/** Another value of the column's type. */
const otherValue = ({ name, type }: Column): RawBuilder<unknown> => {
  const column = sql.ref(name);
  if (type === "jsonb") return sql`jsonb_build_object('was', ${column})`;
  if (type === "date") return sql`coalesce(${column} + 1, '2030-01-01')`;
  if (type.startsWith("timestamp")) return sql`coalesce(${column} + interval '1 microsecond', now())`;
  if (type === "text") return sql`coalesce(${column}, '') || ' '`;
  return sql`coalesce(${column}, 0) + 1000000000`;
};

const update = async (target: Target): Promise<void> => {
  const column = target.random.oneOf(target.columns);
  await sql`update ${table(target.chain)} set ${sql.ref(column.name)} = ${otherValue(column)}
    where ctid = any(array${anyRow(target)})`.execute(target.tx);
};

const keyOf = (chain: Chain, of = "") =>
  sql`array[${sql.join(CHAINS[chain].map((name) => sql.ref(`${of}${name}`)))}]::bigint[]`;
/** As the trigger computes it, of the row `entry`. */
const digestOfEntry = sql`(select sha256(convert_to(jsonb_object_agg(key, value)::text, 'UTF8'))
  from jsonb_each(to_jsonb(entry)) where value <> 'null'::jsonb)`;

/** A copy of a row, with a last part of its key that no other row has. */
const insert = async ({ tx, chain, columns, random }: Target): Promise<void> => {
  const last = CHAINS[chain].at(-1) ?? "";
  const values = columns.map(({ name }) => (name === last ? sql`1000000000 + ${sql.ref(name)}` : sql.ref(name)));
  await sql`insert into ${table(chain)} (${sql.join(columns.map(({ name }) => sql.ref(name)))})
    select ${sql.join(values)} from ${table(chain)} order by ctid offset ${random.below(EACH)} limit 1`.execute(tx);
};

const newestLinks = (chain: Chain, count: number) =>
  sql`select row_key from chain_links where chain = ${chain} order by position desc limit ${count}`;

async function truncateTail({ tx, chain }: Target, count: number): Promise<void> {
  const key = keyOf(chain);
  await sql`delete from ${table(chain)} where ${key} in (${newestLinks(chain, count)})
    or ${key} in (select row_key from chain_pending where chain = ${chain})`.execute(tx);
  await sql`delete from chain_pending where chain = ${chain}`.execute(tx);
  await sql`delete from chain_links where chain = ${chain} and row_key in (${newestLinks(chain, count)})`.execute(tx);
}

/** As somebody does who knows the rule of the chain: everything that needs no key. */
async function relink(target: Target): Promise<void> {
  const { tx, chain } = target;
  await update({ ...target, columns: target.columns.filter(({ name }) => !isOfKey(chain, name)) });
  await sql`update chain_links set digest = ${digestOfEntry} from ${table(chain)} as entry
    where chain = ${chain} and row_key = ${keyOf(chain, "entry.")}`.execute(tx);
  await sql`update chain_pending set digest = ${digestOfEntry} from ${table(chain)} as entry
    where chain = ${chain} and row_key = ${keyOf(chain, "entry.")}`.execute(tx);
  let previous: Buffer | undefined;
  for (const link of await linksAfter(tx, chain, 0, EACH * 10)) {
    previous = hashOf(chain, link, previous);
    await sql`update chain_links set hash = ${previous}
      where chain = ${chain} and position = ${link.position}`.execute(tx);
  }
  await sql`update chain_heads set hash = ${previous} where chain = ${chain}`.execute(tx);
}

const isOfKey = (chain: Chain, name: string): boolean => (CHAINS[chain] as readonly string[]).includes(name);

const tamperings: Record<string, (target: Target) => Promise<void>> = {
  "a column is changed": update,
  "a row is deleted": async (target) => {
    await sql`delete from ${table(target.chain)} where ctid = any(array${anyRow(target)})`.execute(target.tx);
  },
  "rows are deleted": async (target) => {
    await sql`delete from ${table(target.chain)} where ctid = any(array${anyRow(target, 5)})`.execute(target.tx);
  },
  "a row is inserted": insert,
  "a row is inserted twice": async (target) => {
    const [name] = (
      await sql<{ name: string }>`select conname as name from pg_constraint
        where contype = 'p' and conrelid = ${target.chain}::regclass`.execute(target.tx)
    ).rows.map((row) => row.name);
    await sql`alter table ${table(target.chain)} drop constraint ${sql.ref(name ?? "")} cascade`.execute(target.tx);
    const names = sql.join(target.columns.map((column) => sql.ref(column.name)));
    const changed = target.columns.find((column) => !isOfKey(target.chain, column.name));
    const values = target.columns.map((column) => (column === changed ? otherValue(column) : sql.ref(column.name)));
    await sql`insert into ${table(target.chain)} (${names})
      select ${sql.join(values)} from ${table(target.chain)} where ctid = any(array${anyRow(target)})`.execute(
      target.tx,
    );
  },
  "two rows change places": async ({ tx, chain, random }) => {
    const key = CHAINS[chain].at(-1) ?? "";
    // The lines of invoices have the same number: their invoices change places.
    const moved = chain === "invoice_items" ? "invoice_id" : key;
    const { rows } = await sql<{ id: number }>`select ${sql.ref(moved)} as id from ${table(chain)}
      order by ctid offset ${random.below(EACH)} limit 2`.execute(tx);
    const [first, second] = rows.map(({ id }) => id);
    const at = sql.ref(moved);
    await sql`update ${table(chain)} set ${at} = -1 where ${at} = ${first}`.execute(tx);
    await sql`update ${table(chain)} set ${at} = ${first} where ${at} = ${second}`.execute(tx);
    await sql`update ${table(chain)} set ${at} = ${second} where ${at} = -1`.execute(tx);
  },
  "a row and its link are deleted": async ({ tx, chain, random }) => {
    const { rows } = await sql<{ key: number[] }>`
      delete from chain_links where chain = ${chain} and position = ${1 + random.below(EACH)} returning row_key as key`.execute(
      tx,
    );
    await sql`delete from ${table(chain)} where ${keyOf(chain)} = ${sql.val(rows[0]?.key)}::bigint[]`.execute(tx);
  },
  "a link is removed": async ({ tx, chain, random }) => {
    await sql`delete from chain_links where chain = ${chain} and position = ${1 + random.below(EACH)}`.execute(tx);
  },
  "two links change places": async ({ tx, chain, random }) => {
    const first = 1 + random.below(EACH - 1);
    await sql`update chain_links set position = case position when ${first} then -1 else ${first} end
      where chain = ${chain} and position in (${first}, ${first + 1})`.execute(tx);
    await sql`update chain_links set position = ${first + 1} where chain = ${chain} and position = -1`.execute(tx);
  },
  "a row and the digest in its link are changed": async (target) => {
    await update(target);
    await sql`update chain_links set digest = ${digestOfEntry} from ${table(target.chain)} as entry
      where chain = ${target.chain} and row_key = ${keyOf(target.chain)} and digest <> ${digestOfEntry}`.execute(
      target.tx,
    );
  },
  "a row is changed and its chain is computed anew": relink,
  "a row is changed and noted again": async (target) => {
    await update(target);
    await sql`insert into chain_pending (chain, row_key, digest) select ${target.chain}, row_key, ${randomBytes(32)}
      from chain_links where chain = ${target.chain} and position = ${1 + target.random.below(EACH)}`.execute(
      target.tx,
    );
  },
  "a row that waits is removed": async ({ tx, chain }) => {
    await sql`delete from ${table(chain)} where ${keyOf(chain)} in (
      select row_key from chain_pending where chain = ${chain} limit 1)`.execute(tx);
  },
  "a row that waits is not noted any more": async ({ tx, chain }) => {
    await sql`delete from chain_pending where id in (
      select id from chain_pending where chain = ${chain} limit 1)`.execute(tx);
  },
  "the newest rows are cut off with their links": async (target) => {
    await truncateTail(target, 1 + target.random.below(5));
  },
  [CUT_TO_EARLIER_HEAD]: async (target) => {
    await truncateTail(target, EACH);
    await sql`update chain_heads set (position, hash, code) = (select position, hash, code from earlier_heads
      where earlier_heads.chain = chain_heads.chain) where chain = ${target.chain}`.execute(target.tx);
  },
  "all links are removed": async ({ tx, chain }) => {
    await sql`delete from chain_links where chain = ${chain}`.execute(tx);
    await sql`delete from chain_heads where chain = ${chain}`.execute(tx);
  },
};
const kinds = Object.keys(tamperings);

/** Two rounds of the job, each of as many rows, and then rows that are not linked yet. */
async function tamperedWorld() {
  const chained = await chainedWorld();
  const { world, accountId, link } = chained;
  const { db } = world;
  await writeRows(db, accountId, EACH);
  await link();
  await sql`create table earlier_heads as select * from chain_heads`.execute(db);
  await writeRows(db, accountId, EACH);
  await link();
  const { anchor } = await verifyAll(world);
  await writeRows(db, accountId, 5);
  // The owner of the tables can remove whatever is in the way.
  const { rows } = await sql<{ statement: string }>`
    select format('alter table %s drop constraint %I cascade', conrelid::regclass, conname) as statement
    from pg_constraint where contype in ('c', 'f', 'u')
      and conrelid = any(array[${sql.join(CHAINED.map((name) => sql`${name}::regclass`))}])`.execute(db);
  for (const { statement } of rows) await sql.raw(statement).execute(db);
  for (const name of CHAINED) await sql`alter table ${sql.table(name)} disable trigger user`.execute(db);
  return { ...chained, anchor };
}

test(`each of ${TAMPERINGS} random tamperings with the audit and the money records is found`, async () => {
  await using chained = await tamperedWorld();
  const { world, anchor } = chained;
  const anchors = readAnchors(anchor);
  const { rows } = await sql<Column & { chain: Chain }>`
    select relname as chain, attname as name, format_type(atttypid, null) as type
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where attrelid = any(array[${sql.join(CHAINED.map((name) => sql`${name}::regclass`))}]) and attnum > 0 and not attisdropped
    order by attrelid, attnum`.execute(world.db);
  const columns = Map.groupBy(rows, ({ chain }) => chain);
  const missed: string[] = [];
  const found = new Map<string, number>();

  expect((await verifyAll(world, { anchor })).faults).toEqual([]);
  for (let seed = 0; seed < TAMPERINGS; seed++) {
    const random = createRandom(seed);
    const kind = kinds[seed % kinds.length] ?? "";
    const chain = random.oneOf(CHAINED);
    const tx = await world.db.startTransaction().execute();
    try {
      await tamperings[kind]?.({ tx, chain, columns: columns.get(chain) ?? [], random });
      const known = kind === CUT_TO_EARLIER_HEAD ? anchors : new Map();
      let faults = 0;
      for (let cursor: string | undefined = `${chain}:links:0`; cursor?.startsWith(`${chain}:`); ) {
        const page = await verifyIn(tx, world.sealer, { cursor, anchors: known });
        faults += page.faults.length;
        cursor = page.next;
      }
      if (faults === 0) missed.push(`seed ${seed}: ${kind} (${chain})`);
      else found.set(kind, (found.get(kind) ?? 0) + 1);
    } finally {
      await tx.rollback().execute();
    }
  }

  expect(missed).toEqual([]);
  expect([...found.values()].reduce((sum, count) => sum + count, 0)).toBe(TAMPERINGS);
  expect((await verifyAll(world, { anchor })).faults).toEqual([]);
});

test("rows that are written and linked during a verification are no fault", async () => {
  await using chained = await chainedWorld();
  const { world, accountId, link } = chained;
  const other = createLinkJob({ ...world, log: silent });
  const before = await verifyAll(world);
  let writing = true;
  const write = async (): Promise<number> => {
    for (let rounds = 0; rounds < 25; rounds++) {
      const tx = await world.db.startTransaction().execute();
      await writeRows(tx, accountId, 3);
      await (rounds % 5 === 4 ? tx.rollback() : tx.commit()).execute();
    }
    return 20 * 3 * CHAINED.length;
  };
  const repeat = async (work: () => Promise<unknown>): Promise<void> => {
    while (writing) await work();
  };
  const verifications: string[][] = [];

  const jobs = [
    repeat(link),
    repeat(other),
    repeat(async () =>
      verifications.push((await verifyAll(world, { anchor: before.anchor || undefined, most: 7 })).faults),
    ),
  ];
  const written = await Promise.all([write(), write(), write()]);
  writing = false;
  await Promise.all(jobs);
  await link();
  const after = await verifyAll(world);

  expect(verifications.length).toBeGreaterThan(0);
  expect(verifications.flat()).toEqual([]);
  expect(after.faults).toEqual([]);
  expect(after.rows - before.rows).toBe(written.reduce((sum, count) => sum + count, 0));
  expect(after).toMatchObject({ links: after.rows, waiting: 0 });
});

test("a part of a verification reads one state", async () => {
  await using chained = await chainedWorld();
  const { world, accountId, link } = chained;
  await writeRows(world.db, accountId, 2);
  await link();

  const [before, after] = await inSnapshot(world.db, async (tx) => {
    const newest = await newestLink(tx, "ledger");
    await writeRows(world.db, accountId, 2);
    await link();
    return [newest, await findHead(tx, "ledger")];
  });

  expect(after?.position).toBe(before?.position);
  expect((await newestLink(world.db, "ledger"))?.position).toBe((before?.position ?? 0) + 2);
});

test("while one worker links, another one leaves the rows to it", async () => {
  await using chained = await chainedWorld();
  const { world, accountId, link } = chained;
  await writeRows(world.db, accountId, 2);

  await world.db.transaction().execute(async (tx) => {
    await lockChains(tx);
    await link();
  });
  expect(await newestLink(world.db, "ledger")).toBeUndefined();
  await link();

  expect((await newestLink(world.db, "ledger"))?.position).toBe(2);
});

test("a chain that was made anew is found with an anchor alone, and a worker that saw the first one reports it", async () => {
  await using chained = await chainedWorld();
  const { world, accountId, link, lines } = chained;
  await writeRows(world.db, accountId, 3);
  await link();
  const { anchor } = await verifyAll(world);
  expect(lines).toEqual([{ code: "chains.anchor", anchor }]);

  await sql`alter table audit disable trigger user`.execute(world.db);
  await sql`update audit set actor = 'mallory'`.execute(world.db);
  await sql`alter table audit enable trigger user`.execute(world.db);
  await sql`delete from chain_links where chain = 'audit'`.execute(world.db);
  await sql`delete from chain_heads where chain = 'audit'`.execute(world.db);
  await world.db.transaction().execute(async (tx) => {
    await sql`set local timezone to 'UTC'`.execute(tx);
    await sql`insert into chain_pending (chain, row_key, digest)
      select 'audit', array[id], ${digestOfEntry} from audit as entry order by id`.execute(tx);
  });
  await createLinkJob({ ...world, log: silent })();
  await link();

  expect((await verifyAll(world, { anchor })).faults).toEqual(["audit: replaced"]);
  expect(lines.slice(1)).toMatchObject([{ code: "chains.set_back", chain: "audit" }]);
});

test("what follows a forged head does not prove it", async () => {
  await using chained = await chainedWorld();
  const { world, accountId, link, lines } = chained;
  await writeRows(world.db, accountId, 3);
  await link();
  const links = await world.db.transaction().execute((tx) => linksAfter(tx, "ledger", 0, 100));
  const [previous, newest] = links.slice(-2);
  if (newest === undefined) throw new Error("The ledger has no two links.");
  const digest = randomBytes(32);
  const hash = hashOf("ledger", { ...newest, digest }, previous?.hash);
  await sql`update chain_links set digest = ${digest}, hash = ${hash}
    where chain = 'ledger' and position = ${newest.position}`.execute(world.db);
  await sql`update chain_heads set hash = ${hash}, code = 'k0.nothing' where chain = 'ledger'`.execute(world.db);
  await writeRows(world.db, accountId, 3);
  await link();

  expect((await verifyAll(world)).faults).toContain("ledger: forged");
  expect(lines).toContainEqual({ code: "chains.unproven", chain: "ledger" });
});

test("after a change of the current key the earlier one can be removed", async () => {
  await using chained = await chainedWorld();
  const { world, accountId } = chained;
  const [k1, k2] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
  const sealers = {
    before: createSealer({ current: "k1", keys: { k1 } }),
    during: createSealer({ current: "k2", keys: { k1, k2 } }),
    after: createSealer({ current: "k2", keys: { k2 } }),
  };
  await writeRows(world.db, accountId, 3);
  await createLinkJob({ ...world, log: silent, sealer: sealers.before })();
  expect((await verifyAll({ ...world, sealer: sealers.after })).faults).toContain("ledger: unproven");

  await createLinkJob({ ...world, log: silent, sealer: sealers.during })();

  expect((await verifyAll({ ...world, sealer: sealers.after })).faults).toEqual([]);
});
