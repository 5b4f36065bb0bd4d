import type { GroupReport, PrimaryTerm } from "@moorage/contract/agent";
import { amendDesired, findNodes, type HostsToWake, type NodeRow, readInstallation } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";

/**
 * More terms than between any backup and its restore: a host that was unreachable then may know terms that we forgot.
 */
const TERMS_OF_AN_EPOCH = 1_000_000;

type Key = { account_id: number; id: number };

/**
 * The primary of an asynchronous cluster: from its row, or from the desired specs if those are newer or the row is
 * lost.
 */
export async function findPrimary(db: Db | Tx, { account_id, id }: Key): Promise<PrimaryTerm | undefined> {
  const row = await db
    .selectFrom("primary_terms")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .executeTakeFirst();
  const desired = (await findNodes(db, account_id, id)).map(({ desired_spec }) => desired_spec?.cluster?.primary);
  const { node_id: node, term, reason, from_node: from } = row ?? {};
  const own = node && term && reason ? { node, term, reason, ...(from ? { from } : {}) } : undefined;
  return highestTerm([own, ...desired]);
}

/** When the term was set; undefined if its row is lost. */
export async function termSince(db: Db | Tx, { account_id, id }: Key, term = 0): Promise<Date | undefined> {
  const row = await db
    .selectFrom("primary_terms")
    .select("since")
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .where("term", "=", term)
    .executeTakeFirst();
  return row?.since;
}

/** The newest term that anybody knows. Of equal terms the first in the list counts, and is sent to the others. */
export const highestTerm = (terms: readonly (PrimaryTerm | undefined)[]): PrimaryTerm | undefined =>
  terms.reduce((highest, primary) => (primary && primary.term > (highest?.term ?? 0) ? primary : highest), undefined);

/** The current or future primary, then the others by their ordinals. */
export const primaryFirst = <Node extends { id: string; ordinal: number }>(
  nodes: readonly Node[],
  primary: Pick<PrimaryTerm, "node"> | undefined,
): Node[] =>
  nodes.toSorted((a, b) => Number(b.id === primary?.node) - Number(a.id === primary?.node) || a.ordinal - b.ordinal);

/**
 * Makes a member the primary, perhaps the same one again, in a new term. The caller has locked the database's row and
 * sends the term to all members in the same transaction.
 */
export async function setPrimary(
  tx: Tx,
  database: Key,
  next: Omit<PrimaryTerm, "term">,
  at: Date,
): Promise<PrimaryTerm> {
  const before = await findPrimary(tx, database);
  const { epoch } = await readInstallation(tx);
  const given = [before?.term ?? 0, await highestReportedTerm(tx, database), (epoch - 1) * TERMS_OF_AN_EPOCH];
  const primary = { ...next, term: Math.max(...given) + 1 };
  await writePrimary(tx, database, primary, at);
  return primary;
}

/** The highest term that hosts know: higher than ours if our database was set back. */
async function highestReportedTerm(tx: Tx, { account_id, id }: Key): Promise<number> {
  const reports = await reportsOf(tx, await findNodes(tx, account_id, id));
  return Math.max(0, ...[...reports.values()].map((report) => report?.term ?? 0));
}

/** The last group report of each member, if any. */
export async function reportsOf(tx: Tx, nodes: readonly Pick<NodeRow, "id">[]): Promise<Map<string, GroupReport>> {
  const ids = nodes.map(({ id }) => id);
  const rows = await tx.selectFrom("members").select(["node_id", "report"]).where("node_id", "in", ids).execute();
  return new Map(rows.flatMap(({ node_id, report }) => (report === null ? [] : [[node_id, report] as const])));
}

/** The member is primary: its server does not wait for the former one again, however often it starts in this term. */
export async function confirmPrimary(
  tx: Tx,
  database: Key,
  { node, term }: PrimaryTerm,
  at: Date,
): Promise<PrimaryTerm> {
  const primary = { node, term, reason: "fenced" } as const;
  await writePrimary(tx, database, primary, at);
  return primary;
}

export async function writePrimary(
  tx: Tx,
  { account_id, id }: Key,
  { node, term, reason, from }: PrimaryTerm,
  at: Date,
): Promise<void> {
  const row = { node_id: node, term, reason, from_node: from ?? null, since: at };
  await tx
    .insertInto("primary_terms")
    .values({ account_id, database_id: id, ...row })
    .onConflict((conflict) => conflict.column("database_id").doUpdateSet(row))
    .execute();
}

/** All members at once; the rest of their specs stays, and so does every wait for it. */
export const sendPrimary = async (tx: Tx, { account_id, id }: Key, primary: PrimaryTerm): Promise<HostsToWake> =>
  amendDesired(tx, await findNodes(tx, account_id, id), (spec) =>
    spec.cluster === undefined ? spec : { ...spec, cluster: { ...spec.cluster, primary } },
  );
