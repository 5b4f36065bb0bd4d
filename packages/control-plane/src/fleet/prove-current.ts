import type { DesiredRequest, Statement } from "@moorage/contract/agent";
import { type Selectable, sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { readInstallation } from "./host-store.ts";

/** More ids than can have been assigned since any copy was taken. */
const SEQUENCE_JUMP = 1_000_000;
/** A host polls every ten seconds, and at once when its connection breaks. A host that has not by now is silent. */
const SILENT_AFTER_MS = 15_000;

export type Position = { server: string; timeline: number; lsn: number };
/** The PostgreSQL server that answers now. */
export type Server = { fingerprint: string; position: Position };

export async function readServer(db: Db | Tx): Promise<Server> {
  const { rows } = await sql<Position & { fingerprint: string }>`
    select current_fingerprint() as fingerprint, server, timeline, lsn from current_position()`.execute(db);
  const { fingerprint, ...position } = rows[0] as Position & { fingerprint: string };
  return { fingerprint, position };
}

/**
 * The first who meets a new server skips all ids that an earlier one may have assigned, so that nobody has to wait for a
 * silent host before creating something, and keeps the server's position, which from now on only grows.
 */
export async function noticeServer(db: Db, now: Date): Promise<void> {
  const { fingerprint: here } = await readServer(db);
  if ((await readInstallation(db)).noticed_fingerprint === here) return;
  await db.transaction().execute(async (tx) => {
    const { noticed_fingerprint } = await tx
      .selectFrom("installation")
      .selectAll()
      .forUpdate()
      .executeTakeFirstOrThrow();
    const { fingerprint, position } = await readServer(tx);
    if (noticed_fingerprint === fingerprint) return;
    await skipIds(tx);
    await tx
      .updateTable("installation")
      .set({ noticed_fingerprint: fingerprint, noticed_lsn: position.lsn, noticed_at: now })
      .execute();
  });
}

const skipIds = (tx: Tx): Promise<unknown> =>
  sql`select setval(format('%I.%I', schemaname, sequencename), coalesce(last_value, 1) + ${SEQUENCE_JUMP})
    from pg_sequences where schemaname = current_schema()`.execute(tx);

type Installation = Pick<Selectable<Tables["installation"]>, "epoch" | "noticed_lsn">;
type Host = Pick<Selectable<Tables["hosts"]>, "revision" | "proven_fingerprint">;
type Claim = Pick<DesiredRequest, "epoch" | "revision">;

const isLater = (one: Claim, other: Claim): boolean =>
  one.epoch !== other.epoch ? one.epoch > other.epoch : one.revision > other.revision;

/**
 * We told the host a later state than ours, or our server was at a later position then: the database was set back. A
 * host that is not proven yet is compared with the position at which the server was noticed: it has written since.
 */
export const wasSetBack = (
  installation: Installation,
  host: Host,
  server: Server,
  told?: Omit<Statement, "seal">,
): boolean => {
  const { epoch, noticed_lsn } = installation;
  if (told === undefined) return false;
  if (told.epoch !== epoch || told.revision > host.revision) return isLater(told, { epoch, revision: host.revision });
  const { position } = told;
  const isSameHistory = position.server === server.position.server && position.timeline === server.position.timeline;
  const lsn = host.proven_fingerprint === server.fingerprint ? server.position.lsn : noticed_lsn;
  return isSameHistory && position.lsn > lsn;
};

/** The host says that it has a later state than ours, and we did not tell it so. */
export const claimsMore = (
  { epoch }: Pick<Installation, "epoch">,
  { revision }: Pick<Host, "revision">,
  theirs: Claim,
) => isLater(theirs, { epoch, revision });

export const noteSetBack = (db: Db | Tx, now: Date): Promise<unknown> =>
  db.updateTable("installation").set({ set_back_at: now }).where("set_back_at", "is", null).execute();

/**
 * Changes of this host's nodes may continue, and after the last host everything else. `server` is the one that the host
 * was compared with: another may have taken its place since. The row's lock lets the last of several hosts see the others.
 */
export async function proveHost(db: Db, hostId: number, { fingerprint }: Server, now: Date): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.selectFrom("installation").select("epoch").forUpdate().execute();
    if ((await readServer(tx)).fingerprint !== fingerprint) return;
    await tx.updateTable("hosts").set({ proven_fingerprint: fingerprint }).where("id", "=", hostId).execute();
    await proveServer(tx, fingerprint, now);
  });
}

/**
 * Once every host that can be reached has been compared with a new server, and none was ahead, work continues that
 * belongs to no host: invoices, uploads, deletions of archives. A host that is silent keeps nobody but its own databases
 * waiting.
 */
async function proveServer(db: Db | Tx, fingerprint: string, now: Date): Promise<void> {
  const known = await readInstallation(db);
  if (known.fingerprint === fingerprint || known.set_back_at !== null) return;
  const hosts = await db
    .selectFrom("hosts")
    .select((is) => is("proven_fingerprint", "=", fingerprint).as("proven"))
    .where("state", "in", ["active", "drained"])
    .where("quarantined_at", "is", null)
    .execute();
  const silent = hosts.filter(({ proven }) => !proven);
  const isPatienceOver = now.getTime() >= known.noticed_at.getTime() + SILENT_AFTER_MS;
  if (silent.length > 0 && (!isPatienceOver || silent.length === hosts.length)) return;
  await db
    .updateTable("installation")
    .set({ fingerprint })
    .where("set_back_at", "is", null)
    .where("noticed_fingerprint", "=", fingerprint)
    .execute();
}

/** For an installation whose hosts are silent, or that has none: nobody polls. */
export const createProveCurrentJob =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<void> => {
    await noticeServer(db, clock());
    await proveServer(db, (await readServer(db)).fingerprint, clock());
  };

/**
 * The epoch of a recovery that began on this server and has not ended. One that began on another is not continued: this
 * server may be a copy from the middle of it, and hosts may have specs of its epoch.
 */
export async function openRecovery(tx: Tx): Promise<number | undefined> {
  const { recovery_epoch, fingerprint } = await readInstallation(tx);
  return recovery_epoch !== null && fingerprint === (await readServer(tx)).fingerprint ? recovery_epoch : undefined;
}

/** Whether the database was set back, or a host is not known to have no later state than it. */
export async function needsRecovery(tx: Tx): Promise<boolean> {
  if ((await readInstallation(tx)).set_back_at !== null) return true;
  const { fingerprint } = await readServer(tx);
  const host = await tx
    .selectFrom("hosts")
    .select("id")
    .where("state", "in", ["active", "drained"])
    .where("proven_fingerprint", "!=", fingerprint)
    .executeTakeFirst();
  return host !== undefined;
}

/** Raises the epoch, and refuses changes until `endRecovery`. The caller has locked the row. */
export async function startRecovery(tx: Tx, epoch: number, setBackAt: Date): Promise<void> {
  const { fingerprint } = await readServer(tx);
  await tx
    .updateTable("installation")
    .set({ epoch, recovery_epoch: epoch, set_back_at: setBackAt, fingerprint })
    .execute();
  await skipIds(tx);
}

/** Rows and hosts agree: changes continue. Charges are compared with the payment provider before any is made. */
export async function endRecovery(tx: Tx, epoch: number, hosts: readonly number[], now: Date): Promise<void> {
  const { fingerprint, position } = await readServer(tx);
  const { numUpdatedRows } = await tx
    .updateTable("installation")
    .set({
      set_back_at: null,
      recovery_epoch: null,
      fingerprint,
      noticed_fingerprint: fingerprint,
      noticed_lsn: position.lsn,
      noticed_at: now,
      charges_fingerprint: "",
    })
    .where("recovery_epoch", "=", epoch)
    .where("fingerprint", "=", fingerprint)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n || hosts.length === 0) return;
  await tx
    .updateTable("hosts")
    .set({ proven_fingerprint: fingerprint, quarantined_at: null })
    .where("id", "in", hosts)
    .execute();
}
