import type { Leader } from "@moorage/contract/agent";
import { amendWanted, findNodes, readInstallation, type Wanted } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { reportsOf } from "../health/report-store.ts";
import { highestTerm } from "./terms.ts";

type Key = { account_id: number; id: number };

/** Who leads an asynchronous cluster: by its row, or by what its hosts were told, if that is newer or all that is left. */
export async function findLeader(db: Db | Tx, { account_id, id }: Key): Promise<Leader | undefined> {
  const row = await db
    .selectFrom("leaders")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .executeTakeFirst();
  const told = (await findNodes(db, account_id, id)).map(({ wanted }) => wanted?.cluster?.leader);
  const { node_id: node, term, over, from_node: from } = row ?? {};
  const own = node && term && over ? { node, term, over, ...(from ? { from } : {}) } : undefined;
  return highestTerm([own, ...told]);
}

/** More than were given between any backup and its restore: a host that was silent then may know of terms that we forgot. */
const TERMS_OF_AN_EPOCH = 1_000_000;

/**
 * Another one leads, or the same one again, in a new term. The caller holds the database's row, and tells all members in
 * the same transaction.
 */
export async function setLeader(tx: Tx, database: Key, next: Omit<Leader, "term">, at: Date): Promise<Leader> {
  const before = await findLeader(tx, database);
  const { epoch } = await readInstallation(tx);
  const given = [before?.term ?? 0, await highestHeard(tx, database), (epoch - 1) * TERMS_OF_AN_EPOCH];
  const leader = { ...next, term: Math.max(...given) + 1 };
  await writeLeader(tx, database, leader, at);
  return leader;
}

/** Of what hosts know: more than we do, if we were set back in time. */
async function highestHeard(tx: Tx, { account_id, id }: Key): Promise<number> {
  const reports = await reportsOf(tx, await findNodes(tx, account_id, id));
  return Math.max(0, ...[...reports.values()].map((report) => report?.term ?? 0));
}

/** All members at once; whatever else is wanted of them stays, and so does whoever waits for it. */
export const tellLeader = async (tx: Tx, { account_id, id }: Key, leader: Leader): Promise<Wanted> =>
  amendWanted(tx, await findNodes(tx, account_id, id), (spec) =>
    spec.cluster === undefined ? spec : { ...spec, cluster: { ...spec.cluster, leader } },
  );

/** It leads: whoever gave over to it is not asked for again, however often its server starts in this term. */
export async function confirmLeader(tx: Tx, database: Key, { node, term }: Leader, at: Date): Promise<Leader> {
  const leader = { node, term, over: "fence" } as const;
  await writeLeader(tx, database, leader, at);
  return leader;
}

export async function writeLeader(
  tx: Tx,
  { account_id, id }: Key,
  { node, term, over, from }: Leader,
  at: Date,
): Promise<void> {
  const row = { node_id: node, term, over, from_node: from ?? null, since: at };
  await tx
    .insertInto("leaders")
    .values({ account_id, database_id: id, ...row })
    .onConflict((conflict) => conflict.column("database_id").doUpdateSet(row))
    .execute();
}
