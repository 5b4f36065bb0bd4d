import { type RawBuilder, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { texts } from "./texts.ts";

/**
 * Whether this database has everything that the installation ever did. PostgreSQL may be an older copy of itself: a
 * restored backup, a disk snapshot, or a promoted standby that lacks the last transactions. Hosts then have desired
 * states that this database does not know, ids would be assigned twice, and debts charged twice. A server that is new to
 * us (`current_fingerprint()`) therefore has to be proven, host by host: `fleet/prove-current.ts`.
 */

const here = sql`(select current_fingerprint())`;

/** Every host that can be reached has been compared with this server, and none knew a later state. */
export const isCurrent: RawBuilder<boolean> = sql`(installation.set_back_at is null
  and installation.recovery_epoch is null and installation.fingerprint = ${here})`;

/** There is no sign that this database was set back, and ids that an earlier server assigned are skipped. */
export const mayWork: RawBuilder<boolean> = sql`(installation.set_back_at is null
  and installation.recovery_epoch is null and installation.noticed_fingerprint = ${here})`;

/** All hosts of the database have been compared. A dead host has no say. */
export const isCurrentFor = (databaseId: number): RawBuilder<boolean> => sql`(${mayWork}
  and not exists (select from nodes join hosts on hosts.id = nodes.host_id
    where nodes.database_id = ${databaseId}::bigint and nodes.released_at is null
      and hosts.state <> 'dead' and hosts.proven_fingerprint <> ${here}))`;

/** Charges are current too: what the payment provider has taken is in the ledger. */
export const areChargesCurrent: RawBuilder<boolean> = sql`(${isCurrent} and installation.charges_fingerprint = ${here})`;

/** For changes without an operation. With a database, only that database's hosts must be proven. */
export async function requireCurrent(tx: Tx, databaseId?: number): Promise<void> {
  const holds = databaseId === undefined ? isCurrent : isCurrentFor(databaseId);
  if (!(await isTrue(tx, holds))) throw await refusalOf(tx, databaseId);
}

export const isTrue = async (db: Db | Tx, condition: RawBuilder<boolean>): Promise<boolean> =>
  (await sql`select from installation where ${condition}`.execute(db)).rows.length > 0;

/** Why a change is not accepted. */
export async function refusalOf(tx: Db | Tx, databaseId?: number): Promise<DomainError> {
  const { rows } = await sql<{ needs_recovery: boolean }>`
    select set_back_at is not null as needs_recovery from installation`.execute(tx);
  if (rows[0]?.needs_recovery === true) return new DomainError("unavailable", { reason: texts.recoveryNeeded() });
  return databaseId === undefined ? notComparedYet() : hostsNotCompared();
}

const notComparedYet = (): DomainError => new DomainError("unavailable", { reason: texts.notComparedYet() });
export const hostsNotCompared = (): DomainError => new DomainError("unavailable", { reason: texts.hostsNotCompared() });
