import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { KeyUse } from "#platform/db/rewrap.ts";
import { CHAINS, type Chain, type Head, type Link } from "./chain.ts";

type LinkRow = { position: number; row_key: number[]; digest: Buffer; linked_at: Date; hash: Buffer };

const linkOf = ({ row_key: key, linked_at: linkedAt, ...rest }: LinkRow): Link => ({ ...rest, key, linkedAt });

/** False: another worker links. */
export async function lockChains(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('chain_links')) as locked`.execute(tx);
  return rows[0]?.locked === true;
}

/** Takes the oldest rows that are not linked. */
export async function takePending(tx: Tx, most: number): Promise<{ chain: Chain; key: number[]; digest: Buffer }[]> {
  const { rows } = await sql<{ chain: Chain; key: number[]; digest: Buffer }>`
    with taken as (
      delete from chain_pending where id = any(array(select id from chain_pending order by id limit ${most}))
      returning id, chain, row_key as key, digest)
    select chain, key, digest from taken order by id`.execute(tx);
  return rows;
}

export const findHead = (db: Db | Tx, chain: Chain): Promise<Head | undefined> =>
  heads(db).where("chain", "=", chain).executeTakeFirst();

export async function findHeads(db: Db | Tx): Promise<Map<Chain, Head>> {
  const rows = await heads(db).select("chain").$narrowType<{ chain: Chain }>().execute();
  return new Map(rows.map(({ chain, ...head }) => [chain, head]));
}

const heads = (db: Db | Tx) => db.withSchema("public").selectFrom("chain_heads").select(["position", "hash", "code"]);

export async function newestLink(db: Db | Tx, chain: Chain): Promise<Link | undefined> {
  const row = await links(db, chain).orderBy("position", "desc").limit(1).executeTakeFirst();
  return row && linkOf(row);
}

export async function findLink(db: Db | Tx, chain: Chain, position: number): Promise<Link | undefined> {
  const row = await links(db, chain).where("position", "=", position).executeTakeFirst();
  return row && linkOf(row);
}

export async function linksAfter(db: Tx, chain: Chain, position: number, most: number): Promise<Link[]> {
  const rows = await links(db, chain).where("position", ">", position).orderBy("position").limit(most).execute();
  return rows.map(linkOf);
}

const links = (db: Db | Tx, chain: Chain) =>
  db
    .withSchema("public")
    .selectFrom("chain_links")
    .select(["position", "row_key", "digest", "linked_at", "hash"])
    .where("chain", "=", chain);

export async function saveLinks(tx: Tx, chain: Chain, made: readonly Link[]): Promise<void> {
  const values = made.map(({ key, linkedAt, ...link }) => ({ chain, row_key: [...key], linked_at: linkedAt, ...link }));
  await tx.insertInto("chain_links").values(values).execute();
}

export async function saveHead(tx: Tx, chain: Chain, head: Head): Promise<void> {
  await tx
    .insertInto("chain_heads")
    .values({ chain, ...head })
    .onConflict((conflict) => conflict.column("chain").doUpdateSet(head))
    .execute();
}

/** From now on the transaction finds only PostgreSQL's own functions, which the owner of the database cannot replace. */
export async function useOwnFunctions(tx: Tx): Promise<void> {
  await sql`select set_config('search_path', 'pg_catalog', true), set_config('timezone', 'UTC', true)`.execute(tx);
}

/** One state of the database. */
export const inSnapshot = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(work);

const keyColumns = (chain: Chain) => CHAINS[chain].map((name) => sql.ref(`entry.${name}`));
const tableOf = (chain: Chain) => sql.table(`public.${chain}`);

/** The given keys that no row of the table has. */
export async function deletedKeys(tx: Tx, chain: Chain, keys: readonly (readonly number[])[]): Promise<Set<string>> {
  const columns = keyColumns(chain);
  const parts = sql.join(
    columns.map((column, index) => sql`${column} = (given.key->>${index}::int)::bigint`),
    sql` and `,
  );
  const { rows } = await sql<{ key: number[] }>`
    select given.key from jsonb_array_elements(${JSON.stringify(keys)}::jsonb) as given (key)
    where not exists (select from ${tableOf(chain)} as entry where ${parts})`.execute(tx);
  return new Set(rows.map(({ key }) => key.join("/")));
}

type RowOfChain = { key: number[]; content: string; linked: Buffer[]; pending: Buffer[] };

/** Rows of the table after a key, with the digests that its links and its pending entries have. */
export async function rowsAfter(tx: Tx, chain: Chain, after: readonly number[], most: number): Promise<RowOfChain[]> {
  const columns = sql.join(keyColumns(chain));
  const from = sql.join(CHAINS[chain].map((_, index) => sql`${after[index] ?? Number.MIN_SAFE_INTEGER}::bigint`));
  const { rows } = await sql<RowOfChain>`
    select array[${columns}]::bigint[] as key,
      (select jsonb_object_agg(key, value)::text from jsonb_each(to_jsonb(entry)) where value <> 'null'::jsonb) as content,
      array(select digest from public.chain_links
        where chain = ${chain} and row_key = array[${columns}]::bigint[]) as linked,
      array(select digest from public.chain_pending
        where chain = ${chain} and row_key = array[${columns}]::bigint[]) as pending
    from ${tableOf(chain)} as entry where (${columns}) > (${from}) order by ${columns} limit ${most}`.execute(tx);
  return rows;
}

/** The keys of the rows that wait to be linked: the oldest ones, and how many there are. */
export async function waitingRows(tx: Tx, chain: Chain, most: number): Promise<{ keys: number[][]; count: number }> {
  const pending = tx.withSchema("public").selectFrom("chain_pending").where("chain", "=", chain);
  const oldest = await pending.select("row_key").orderBy("id").limit(most).execute();
  const { count } = await pending.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow();
  return { keys: oldest.map(({ row_key }) => row_key), count };
}

/** How many chains have a newest link that was signed with each key. The worker signs with the current one. */
export async function countHeads(db: Db): Promise<KeyUse[]> {
  const { rows } = await sql<Omit<KeyUse, "by">>`
    select split_part(code, '.', 1) as key, count(*) as count from chain_heads group by 1`.execute(db);
  return rows.map((row) => ({ by: "chain_heads.code", ...row }));
}
