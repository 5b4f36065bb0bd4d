import { findNodes } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { TimelineRow } from "../model/timeline-store.ts";
import { findPrimary, primaryFirst } from "./primary-store.ts";

/** A member that comes back within this time stays the archiver: another one would start with a half-archived log. */
export const PATIENCE_MS = 60_000;

/** A host that missed three polls. */
export const SILENT_MS = 30_000;

/** The properties of a cluster member that decide which one is the archiver. */
export type Candidate = {
  node: string;
  ordinal: number;
  primary: boolean;
  /** How long the member has been unhealthy or its host silent; 0 while it is healthy. */
  unhealthyMs: number;
  /** The member's logs do not continue from the end of the archive. */
  unfit: boolean;
};

type Choice =
  | { archiver: string }
  /** No member has the logs after the end of the archive: archiving can only continue with a gap. */
  | { archiver: string; gap: true }
  | undefined;

type Timeline = Pick<TimelineRow, "id" | "account_id" | "database_id" | "prepared" | "last_log" | "created_at">;

/**
 * The archiver of a timeline. A new timeline has one from the first spec on; only the job changes it later, because all
 * members must learn of the change at once. `maker`: the member that has the data first, if it is not the primary.
 */
export async function assignArchiver(tx: Tx, timeline: Timeline, maker?: string): Promise<string | undefined> {
  const known = await findArchiver(tx, timeline.id);
  if (known !== undefined) return known;
  const nodes = await findNodes(tx, timeline.account_id, timeline.database_id);
  const primary = await findPrimary(tx, { account_id: timeline.account_id, id: timeline.database_id });
  const unknown = primaryFirst(nodes, maker === undefined ? primary : { node: maker }).map(({ id }, ordinal) => ({
    node: id,
    ordinal,
    primary: ordinal === 0,
    unhealthyMs: 0,
    unfit: false,
  }));
  const choice = chooseArchiver(unknown, undefined, { freshlyRestored: isFreshlyRestored(timeline) });
  if (choice !== undefined) await setArchiver(tx, timeline, choice.archiver, timeline.created_at);
  return choice?.archiver;
}

export const findArchiver = async (db: Db | Tx, timelineId: string): Promise<string | undefined> =>
  (await db.selectFrom("archivers").select("node_id").where("timeline_id", "=", timelineId).executeTakeFirst())
    ?.node_id;

export const setArchiver = (tx: Tx, { id, account_id }: Timeline, node: string, at: Date): Promise<unknown> =>
  tx
    .insertInto("archivers")
    .values({ timeline_id: id, account_id, node_id: node, since: at })
    .onConflict((conflict) => conflict.column("timeline_id").doUpdateSet({ node_id: node, since: at }))
    .execute();

/** The data came from the archive: one member restored them, and the others cloned them. */
export const isFreshlyRestored = ({ prepared, last_log }: Pick<Timeline, "prepared" | "last_log">): boolean =>
  prepared === null && last_log === 0;

/**
 * The member whose logs are archived: a secondary, to spare the primary. The current archiver stays while it can.
 * `freshlyRestored`: nothing is archived yet of data that one member restored and the others cloned, so only that
 * member has all logs since the start.
 */
export function chooseArchiver(
  candidates: readonly Candidate[],
  current: string | undefined,
  { freshlyRestored, patienceMs = PATIENCE_MS }: { freshlyRestored: boolean; patienceMs?: number },
): Choice {
  const fit = candidates.filter(({ unfit }) => !unfit);
  if (fit.length === 0) {
    const instead = best(candidates, freshlyRestored);
    return instead && { archiver: instead.node, gap: true };
  }
  const archiver = fit.find(({ node }) => node === current);
  const well = fit.filter(({ unhealthyMs }) => unhealthyMs === 0);
  const isReleased =
    archiver === undefined ||
    (archiver.unhealthyMs > patienceMs && well.length > 0) ||
    (!freshlyRestored && archiver.primary && well.some(({ primary }) => !primary));
  const next = isReleased ? best(fit, freshlyRestored) : archiver;
  return next && { archiver: next.node };
}

function best(candidates: readonly Candidate[], freshlyRestored: boolean): Candidate | undefined {
  const [first] = candidates.toSorted(
    (a, b) =>
      Math.sign(a.unhealthyMs) - Math.sign(b.unhealthyMs) ||
      (freshlyRestored ? a.ordinal - b.ordinal : Number(a.primary) - Number(b.primary) || b.ordinal - a.ordinal),
  );
  return first;
}

/** The current members of a database, with their reported health and how long their hosts have been silent. */
export async function findCandidates(tx: Tx, timeline: Timeline, now: Date): Promise<Candidate[]> {
  const rows = await tx
    .selectFrom("nodes")
    .innerJoin("members", "members.node_id", "nodes.id")
    .leftJoin("host_leases", "host_leases.host_id", "nodes.host_id")
    .leftJoin("unfit_archivers", (join) =>
      join.onRef("unfit_archivers.node_id", "=", "nodes.id").on("unfit_archivers.timeline_id", "=", timeline.id),
    )
    .select(["nodes.id as node", "nodes.ordinal", "members.report", "members.unhealthy_since"])
    .select(["host_leases.seen_at", "unfit_archivers.at as unfit_at"])
    .where("nodes.account_id", "=", timeline.account_id)
    .where("nodes.database_id", "=", timeline.database_id)
    .where("nodes.released_at", "is", null)
    .where("nodes.tombstoned", "=", false)
    .where("nodes.replaced_at", "is", null)
    .orderBy("nodes.ordinal")
    .execute();
  return rows.map(({ node, ordinal, report, unhealthy_since, seen_at, unfit_at }) => {
    const silentMs = now.getTime() - (seen_at?.getTime() ?? 0);
    const unhealthy = [
      ...(silentMs > SILENT_MS ? [silentMs] : []),
      ...(unhealthy_since === null ? [] : [Math.max(1, now.getTime() - unhealthy_since.getTime())]),
    ];
    return {
      node,
      ordinal,
      primary: report?.role === "primary",
      unfit: unfit_at !== null,
      unhealthyMs: Math.max(0, ...unhealthy),
    };
  });
}

export const markUnfit = (db: Db | Tx, timelineId: string, node: string, at: Date): Promise<unknown> =>
  db
    .insertInto("unfit_archivers")
    .values({ timeline_id: timelineId, node_id: node, at })
    .onConflict((conflict) => conflict.doNothing())
    .execute();

export const forgetUnfit = (tx: Tx, timelineId: string): Promise<unknown> =>
  tx.deleteFrom("unfit_archivers").where("timeline_id", "=", timelineId).execute();
