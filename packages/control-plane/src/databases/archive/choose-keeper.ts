import type { NodeSpec } from "@moorage/contract/agent";
import { sql } from "kysely";
import type { Logger } from "pino";
import { amendWanted, findNodes, type Wanted } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { type DatabaseRow, lockDatabase } from "../database-store.ts";
import { findTimeline } from "../timeline-store.ts";
import { wakeHosts } from "../want-specs.ts";
import { chooseKeeper } from "./keeper.ts";
import { findCandidates, findKeeper, forgetUnfit, isFirstBorn, setKeeper, SILENT_MS } from "./keeper-store.ts";

type Deps = { db: Db; clock: Clock; log: Logger };

/** The steps at which the chore can die. */
export const keeperSteps = ["worker.choose-keeper"] as const;

/** Of one round; the next one goes on. */
const BATCH = 100;

/** Gives the archive of a cluster to another member when the one that has it is lost, ill, leads, or lacks the logs. */
export const createKeepersChore =
  ({ db, clock, log }: Deps) =>
  async (): Promise<void> => {
    for (const { account_id, id } of await findToLookAt(db, new Date(clock().getTime() - SILENT_MS))) {
      const outcome = await transact(db, keeperSteps[0], async (tx) => {
        const database = await lockDatabase(tx, account_id, id);
        return isSteady(database) ? moveKeeper(tx, database, clock()) : undefined;
      });
      if (outcome === undefined) continue;
      await wakeHosts(db, outcome.wanted);
      if (outcome.gap) log.error({ database: id }, "no member has the logs that the archive lacks: it has a gap now");
    }
  };

/** What is under way with others chooses for itself, or leaves the timeline. */
const isSteady = ({ status, powered, deleted_at }: DatabaseRow): boolean =>
  powered && deleted_at === null && (status === "active" || status === "degraded");

/** Only those of which something may be wrong: most keepers keep on. A first-born that archived may be relieved. */
const findToLookAt = (db: Db, silentSince: Date): Promise<Pick<DatabaseRow, "account_id" | "id">[]> =>
  db
    .selectFrom("clusters")
    .innerJoin("databases", "databases.id", "clusters.database_id")
    .leftJoin("keepers", "keepers.timeline_id", "databases.timeline_id")
    .leftJoin("members", "members.node_id", "keepers.node_id")
    .leftJoin("nodes", "nodes.id", "keepers.node_id")
    .leftJoin("host_leases", "host_leases.host_id", "nodes.host_id")
    .select(["databases.account_id", "databases.id"])
    .where("databases.deleted_at", "is", null)
    .where("databases.powered", "=", true)
    .where("databases.status", "in", ["active", "degraded"])
    .where((is) =>
      is.or([
        is("keepers.node_id", "is", null),
        is("members.replaced_at", "is not", null),
        is("members.unhealthy_since", "is not", null),
        sql<boolean>`members.report ->> 'role' = 'primary'`,
        is("host_leases.seen_at", "<", silentSince),
        is.exists(
          is
            .selectFrom("unfit_keepers")
            .select("unfit_keepers.at")
            .whereRef("unfit_keepers.timeline_id", "=", "databases.timeline_id")
            .whereRef("unfit_keepers.node_id", "=", "keepers.node_id"),
        ),
      ]),
    )
    .orderBy("databases.id")
    .limit(BATCH)
    .execute();

/**
 * All members are told in one transaction, so that at every moment at most one is wanted to keep it; what one that has not
 * heard of it yet still tells, the gateway judges by what is archived. The caller has locked the database's row.
 */
export async function moveKeeper(
  tx: Tx,
  { account_id, id, timeline_id }: DatabaseRow,
  now: Date,
  patienceMs?: number,
): Promise<{ keeper: string; wanted: Wanted; gap: boolean } | undefined> {
  if (timeline_id === null) return undefined;
  const timeline = await findTimeline(tx, timeline_id);
  const current = await findKeeper(tx, timeline_id);
  const choice = chooseKeeper(await findCandidates(tx, timeline, now), current, {
    firstBorn: isFirstBorn(timeline),
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  if (choice === undefined) return undefined;
  const gap = "gap" in choice;
  if (choice.keeper === current && !gap) return undefined;
  if (gap) {
    await forgetUnfit(tx, timeline_id);
    await tx.updateTable("timelines").set({ gap_allowed: true }).where("id", "=", timeline_id).execute();
  }
  await setKeeper(tx, timeline, choice.keeper, now);
  const wanted = await amendWanted(tx, await findNodes(tx, account_id, id), (spec) => withKeeper(spec, choice.keeper));
  return { keeper: choice.keeper, wanted, gap };
}

function withKeeper<Spec extends Pick<NodeSpec, "node" | "archive">>(spec: Spec, keeper: string): Spec {
  if (spec.archive === undefined) return spec;
  const { keeper: _, ...archive } = spec.archive;
  return { ...spec, archive: spec.node === keeper ? archive : { ...archive, keeper: false } };
}
