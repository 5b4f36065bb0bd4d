import { type DatabaseStatus, type Fork, type NewMysqlDatabase, toDate, toTimestamp } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { findNodes } from "#fleet/index.ts";
import { mayUse, type Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError, type ErrorDetail, invalid, invalidReason } from "#platform/errors.ts";
import type { Plan } from "#regions/index.ts";
import { loadHistory } from "../archive/history-store.ts";
import { NotRestorable, planRestore } from "../archive/recipe.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { requireActionAllowed } from "../model/database.ts";
import { idsOfEngine } from "../model/engine.ts";
import { oldestRestoreTime } from "../model/restore-window.ts";
import { type ForkInput, timelineAsOf, type TimelineRow } from "../model/timeline-store.ts";
import { texts } from "./texts.ts";

type ForkRequest = Pick<NewMysqlDatabase, "engine" | "encrypted"> & { fork: Fork };

/**
 * The point that a fork starts from. A fork exposes all of the source's data, so it needs write permission on the
 * source.
 */
export async function requireForkable(
  { db, clock }: { db: Db; clock: Clock },
  by: Principal,
  request: ForkRequest,
  plan: Plan,
): Promise<ForkInput & { engineVersion: string }> {
  const source = await findSource(db, by, request.fork.source);
  const faults = await faultsOf(db, source, request, plan);
  if (faults.length > 0) throw new DomainError("invalid", ...faults);
  requireActionAllowed("fork", source.status);
  const now = clock();
  const oldest = oldestRestoreTime(source, now);
  const requested = restoreTimeOf(request.fork);
  const at = requested ?? now;
  const timeline = await timelineAsOf(db, source, at);
  if (oldest === null || timeline === undefined) throw new DomainError("wrong-state", { reason: texts.forkNoData() });

  const newest = canShip(source.status) ? now : timeline.archived_through;
  if (at < oldest || at > newest)
    throw invalid("fork.restore_time", texts.forkTime({ oldest: toTimestamp(oldest), newest: toTimestamp(newest) }));
  if (requested !== null && timeline.archived_through >= at) await requireRestorable(db, timeline, at);
  return {
    fork: {
      timeline: timeline.id,
      ...(requested === null ? {} : { until: beginningOrLater(timeline, at).toISOString() }),
    },
    engineVersion: source.engine_version,
  };
}

/** What the archive lacks before a time that it has reached will not come. */
async function requireRestorable(db: Db, timeline: TimelineRow, at: Date): Promise<void> {
  try {
    planRestore(await loadHistory(db, timeline.id), { timeline: timeline.id, until: beginningOrLater(timeline, at) });
  } catch (error) {
    if (!(error instanceof NotRestorable)) throw error;
    throw new DomainError("invalid", {
      field: "fork.restore_time",
      reason: texts.forkArchiveGap({ why: error.message }),
    });
  }
}

/** Null: everything committed by now. */
export const restoreTimeOf = (fork: Fork): Date | null => {
  const sent = fork.restore_time ?? fork["-"];
  return sent === undefined ? null : toDate(sent);
};

/** The same answer for a source that does not exist as for one that this user may not see. */
async function findSource(db: Db, by: Principal, id: number): Promise<DatabaseRow> {
  const source = await db
    .selectFrom("databases")
    .selectAll()
    .where("account_id", "=", by.accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (source === undefined || !(await mayUse(db, by, "database", id, "read_write")))
    throw invalid("fork.source", texts.forkSource({ id }));
  return source;
}

async function faultsOf(db: Db, source: DatabaseRow, request: ForkRequest, plan: Plan): Promise<ErrorDetail[]> {
  const used = Math.max(
    0,
    ...(await findNodes(db, source.account_id, source.id)).map((node) => node.used_disk_mb ?? 0),
  );
  const ids = idsOfEngine(source.engine_version);
  const refused = (field: string, valid: Text): ErrorDetail => ({ field, reason: invalidReason(field, valid) });
  return [
    ...(ids.includes(request.engine) ? [] : [refused("engine", texts.forkEngine({ ids }))]),
    ...(request.encrypted === source.encrypted
      ? []
      : [refused("encrypted", texts.forkEncrypted({ encrypted: source.encrypted }))]),
    ...(plan.disk_mb >= used ? [] : [refused("type", texts.forkType({ usedMb: used }))]),
  ];
}

/** The server runs, or will shortly, and can archive what it has. */
const canShip = (status: DatabaseStatus): boolean => status !== "suspended" && status !== "failed";

/** A time before the data of a new database means its initial data. */
const beginningOrLater = ({ created_at }: TimelineRow, at: Date): Date => (at < created_at ? created_at : at);
