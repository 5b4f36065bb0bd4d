import type { EventAction, EventStatus } from "@moorage/contract";
import type { DiskState } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { emit } from "#events/index.ts";
import { forTenants, takeNodeAlert } from "#fleet/index.ts";
import { type Notice, raise, resolve } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { markVerified } from "../backups/backup-store.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { entityOf } from "../model/entity.ts";
import { texts } from "../model/texts.ts";

export const alertSteps = ["worker.judge-alert"] as const;

const BATCH = 100;

/** What a host found. It reports `disk` when it changes, and a verification after each attempt. */
type NodeAlert = { kind: "disk"; disk: DiskState } | { kind: "verification"; ok: boolean; message: string };

/** What the tenant gets: an event, and a notification that is opened or closed. */
type Judgement = {
  event?: { action: EventAction; status: EventStatus; message: Text };
  notice?: Notice;
};

/**
 * Turns the alerts of hosts into events and notifications for tenants: each alert once, and those of a database in the
 * order of arrival. So the alerts of a database wait for its first one.
 */
export const createAlertsJob = ({ db, clock, eachDue }: { db: Db; clock: Clock; eachDue: EachDue }) => {
  const each = eachDue("alerts", "database");
  return async (): Promise<void> => {
    const databases = await db
      .selectFrom("node_alerts")
      .select(({ fn }) => ["database_id as id", fn.min("id").as("first")])
      .groupBy("database_id")
      .orderBy("first")
      .limit(BATCH + each.skipped())
      .execute();
    await each.run(databases, async ({ id: databaseId }) => {
      const waiting = await db
        .selectFrom("node_alerts")
        .select("id")
        .where("database_id", "=", databaseId)
        .orderBy("id")
        .limit(BATCH)
        .execute();
      for (const { id } of waiting) await transact(db, alertSteps[0], (tx) => take(tx, id, clock()));
    });
  };
};

/** Deletes the row in the transaction that acts on it, so a second worker finds nothing. */
async function take(tx: Tx, id: number, now: Date): Promise<void> {
  const row = await takeNodeAlert(tx, id);
  if (row === undefined) return;
  const database = await lockDatabase(tx, row.account_id, row.database_id);
  if (database.deleted_at !== null) return;
  const alert = { kind: row.kind, ...row.detail } as NodeAlert;
  if (alert.kind === "verification" && alert.ok) await markVerified(tx, database, row.detail, row.at);
  await notifyTenant(tx, database, alert, now);
}

async function notifyTenant(tx: Tx, database: DatabaseRow, alert: NodeAlert, at: Date): Promise<void> {
  const { event, notice } = judge(alert, database.label);
  const about = { accountId: database.account_id, entity: entityOf(database), cause: alert.kind };
  if (notice !== undefined) await raise(tx, about, notice, at);
  const ended = notice === undefined && (await resolve(tx, about));
  // An all-clear is only worth an event if there was a problem before.
  if (event === undefined || (notice === undefined && !ended)) return;
  await emit(tx, { accountId: database.account_id, username: null, ...event, entity: about.entity, at });
}

/** Pure. `label` is the database's. */
function judge(alert: NodeAlert, label: string): Judgement {
  return alert.kind === "disk" ? judgeDisk(alert.disk, label) : judgeVerification(alert, label);
}

function judgeDisk(disk: DiskState, label: string): Judgement {
  if (disk === "ok")
    return {
      event: { action: "database_low_disk_space", status: "finished", message: texts.diskSpaceFree({ label }) },
    };
  const readOnly = disk === "read_only";
  const message = readOnly ? texts.diskFull({ label }) : texts.diskNearlyFull({ label });
  return {
    event: { action: "database_low_disk_space", status: "notification", message },
    notice: {
      type: "notice",
      severity: readOnly ? "critical" : "major",
      label: readOnly ? texts.diskFullTitle() : texts.diskNearlyFullTitle(),
      message,
      body: null,
    },
  };
}

function judgeVerification({ ok, message }: { ok: boolean; message: string }, label: string): Judgement {
  if (ok) return {};
  const why = forTenants(message);
  return {
    event: { action: "database_backup_verification", status: "failed", message: texts.hostReported({ message: why }) },
    notice: {
      type: "notice",
      severity: "critical",
      label: texts.verificationFailedTitle(),
      message: texts.verificationFailed({ label, why }),
      body: texts.verificationFailedAdvice(),
    },
  };
}
