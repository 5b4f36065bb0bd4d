import { emit } from "#events/index.ts";
import { raise, resolve } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { markVerified } from "./backups/mark-verified.ts";
import { entityOf } from "./entity.ts";
import { type NodeAlert, judge } from "./judge-alert.ts";
import { type DatabaseRow, lockDatabase } from "./database-store.ts";

const BATCH = 100;

export const alertSteps = ["worker.judge-alert"] as const;

/** Turns the alerts of hosts into events and notifications for tenants: each alert once, in the order of arrival. */
export const createAlertsJob =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<void> => {
    const waiting = await db.selectFrom("node_alerts").select("id").orderBy("id").limit(BATCH).execute();
    for (const { id } of waiting) await transact(db, alertSteps[0], (tx) => take(tx, id, clock()));
  };

/** Deletes the row in the transaction that acts on it, so a second worker finds nothing. */
async function take(tx: Tx, id: number, now: Date): Promise<void> {
  const row = await tx.deleteFrom("node_alerts").where("id", "=", id).returningAll().executeTakeFirst();
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
