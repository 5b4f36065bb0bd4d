import type { NodeSpec } from "@moorage/contract/agent";
import { sql } from "kysely";
import type { Logger } from "pino";
import { amendDesired, findNodes, type HostsToWake } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { allowGap, findTimeline } from "../model/timeline-store.ts";
import {
  chooseArchiver,
  findArchiver,
  findCandidates,
  forgetUnfit,
  isFreshlyRestored,
  setArchiver,
  SILENT_MS,
} from "../spec/archiver-store.ts";
import { wakeHosts } from "../spec/desired-specs.ts";

type Deps = { db: Db; clock: Clock; log: Logger; eachDue: EachDue };

/** The steps at which a fault drill can kill the job. */
export const archiverSteps = ["worker.choose-archiver"] as const;

type Key = Pick<DatabaseRow, "account_id" | "id">;

/** Per round; the next round continues. */
const BATCH = 100;

/** Moves the archiver of a cluster when the current one is lost, unhealthy, the primary, or lacks the logs. */
export const createArchiversJob = (deps: Deps) => {
  const { db, clock } = deps;
  const each = deps.eachDue("archivers", "database");
  return async (): Promise<void> => {
    const silentSince = new Date(clock().getTime() - SILENT_MS);
    await each.run(await findToCheck(db, silentSince, BATCH + each.skipped()), (key) => checkArchiver(deps, key));
  };
};

async function checkArchiver({ db, clock, log }: Deps, { account_id, id }: Key): Promise<void> {
  const outcome = await transact(db, archiverSteps[0], async (tx) => {
    const database = await lockDatabase(tx, account_id, id);
    return isSteady(database) ? moveArchiver(tx, database, clock()) : undefined;
  });
  if (outcome === undefined) return;
  await wakeHosts(db, outcome.toWake);
  if (outcome.gap) log.error({ database: id }, "no member has the logs that the archive lacks: it has a gap now");
}

/** Other operations choose the archiver themselves, or leave the timeline. */
const isSteady = ({ status, powered, deleted_at }: DatabaseRow): boolean =>
  powered && deleted_at === null && (status === "active" || status === "degraded");

/** Only clusters whose archiver may have to change: most keep theirs. */
const findToCheck = (db: Db, silentSince: Date, most: number): Promise<Key[]> =>
  db
    .selectFrom("clusters")
    .innerJoin("databases", "databases.id", "clusters.database_id")
    .leftJoin("archivers", "archivers.timeline_id", "databases.timeline_id")
    .leftJoin("members", "members.node_id", "archivers.node_id")
    .leftJoin("nodes", "nodes.id", "archivers.node_id")
    .leftJoin("host_leases", "host_leases.host_id", "nodes.host_id")
    .select(["databases.account_id", "databases.id"])
    .where("databases.deleted_at", "is", null)
    .where("databases.powered", "=", true)
    .where("databases.status", "in", ["active", "degraded"])
    .where((is) =>
      is.or([
        is("archivers.node_id", "is", null),
        is("nodes.replaced_at", "is not", null),
        is("members.unhealthy_since", "is not", null),
        sql<boolean>`members.report ->> 'role' = 'primary'`,
        is("host_leases.seen_at", "<", silentSince),
        is.exists(
          is
            .selectFrom("unfit_archivers")
            .select("unfit_archivers.at")
            .whereRef("unfit_archivers.timeline_id", "=", "databases.timeline_id")
            .whereRef("unfit_archivers.node_id", "=", "archivers.node_id"),
        ),
      ]),
    )
    .orderBy("databases.id")
    .limit(most)
    .execute();

/**
 * All members get the change in one transaction, so that the desired state never has two archivers. The gateway checks
 * the reports of a former archiver that has not learned of it yet against the archive. The caller has locked the
 * database's row.
 */
export async function moveArchiver(
  tx: Tx,
  { account_id, id, timeline_id }: DatabaseRow,
  now: Date,
  patienceMs?: number,
): Promise<{ archiver: string; toWake: HostsToWake; gap: boolean } | undefined> {
  if (timeline_id === null) return undefined;
  const timeline = await findTimeline(tx, timeline_id);
  const current = await findArchiver(tx, timeline_id);
  const choice = chooseArchiver(await findCandidates(tx, timeline, now), current, {
    freshlyRestored: isFreshlyRestored(timeline),
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  if (choice === undefined) return undefined;
  const gap = "gap" in choice;
  if (choice.archiver === current && !gap) return undefined;
  if (gap) {
    await forgetUnfit(tx, timeline_id);
    await allowGap(tx, timeline_id, now);
  }
  await setArchiver(tx, timeline, choice.archiver, now);
  const toWake = await amendDesired(tx, await findNodes(tx, account_id, id), (spec) =>
    withArchiver(spec, choice.archiver),
  );
  return { archiver: choice.archiver, toWake, gap };
}

function withArchiver<Spec extends Pick<NodeSpec, "node" | "archive">>(spec: Spec, archiver: string): Spec {
  if (spec.archive === undefined) return spec;
  const { archiver: _, ...archive } = spec.archive;
  return { ...spec, archive: spec.node === archiver ? archive : { ...archive, archiver: false } };
}
