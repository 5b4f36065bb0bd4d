import { toTimestamp } from "@moorage/contract";
import { emit } from "#events/index.ts";
import { raise, resolve } from "#notifications/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { orderCopy } from "../archive/order-copy.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { entityOf } from "../model/entity.ts";
import { texts } from "./texts.ts";

type MissingPoint = { timeline: string; at: Date };

const causeOf = (database: DatabaseRow) => ({
  accountId: database.account_id,
  entity: entityOf(database),
  cause: "daily_backup",
});

/** No restore reaches this midnight: its tenant is told instead of being shown a backup, and a base copy is ordered. */
export async function reportMissingPoint(tx: Tx, database: DatabaseRow, point: MissingPoint, now: Date): Promise<void> {
  const message = texts.dailyPointMissing({ label: database.label, at: toTimestamp(point.at) });
  const about = causeOf(database);
  const notice = { type: "notice", severity: "critical", label: texts.dailyPointMissingTitle(), body: null } as const;
  await raise(tx, about, { ...notice, message }, now);
  await emit(tx, {
    accountId: database.account_id,
    username: null,
    action: "database_backup_create",
    status: "failed",
    entity: about.entity,
    message,
    at: now,
  });
  if (point.timeline === database.timeline_id) await orderCopy(tx, database, point.timeline);
}

/** The next daily backup is there. */
export const resolveMissingPoint = (tx: Tx, database: DatabaseRow): Promise<boolean> => resolve(tx, causeOf(database));
