import type { DeletionAllowance } from "@moorage/contract/agent";
import type { Selectable } from "kysely";
import { sql } from "kysely";
import { hostsNotCompared } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { forgetSources } from "./host-sources.ts";
import { SILENT_AFTER_MS } from "./placement.ts";
import { texts } from "./texts.ts";

export type HostRow = Selectable<Tables["hosts"]>;

/** Locks in the order of ids, so that two operations on the same hosts cannot deadlock. */
export const lockHosts = (tx: Tx, ids: readonly number[]): Promise<HostRow[]> =>
  tx.selectFrom("hosts").selectAll().where("id", "in", ids).orderBy("id").forUpdate().execute();

export async function lockHostByName(tx: Tx, name: string): Promise<HostRow> {
  const host = await tx.selectFrom("hosts").selectAll().where("name", "=", name).forUpdate().executeTakeFirst();
  if (host === undefined) throw new DomainError("not-found", { reason: texts.unknownName({ name }) });
  return host;
}

export const findHost = (db: Db | Tx, id: number): Promise<HostRow> =>
  db.selectFrom("hosts").selectAll().where("id", "=", id).executeTakeFirstOrThrow(notFound);

/** Whether all of these hosts were seen recently. */
export const areReachable = async (db: Db | Tx, ids: readonly number[], now: Date): Promise<boolean> => {
  const reachable = await db
    .selectFrom("host_leases")
    .select("host_id")
    .where("host_id", "in", ids)
    .where("seen_at", ">", new Date(now.getTime() - SILENT_AFTER_MS))
    .execute();
  return reachable.length === new Set(ids).size;
};

export const lockRegion = (tx: Tx, id: string): Promise<unknown> =>
  tx.selectFrom("regions").select("id").where("id", "=", id).forUpdate().execute();

export type SeenHosts = { active: number; silent: number };

/** By region: its active hosts, and those of them that missed three polls. Hosts that were declared dead do not count. */
export async function countSilentHosts(db: Db | Tx, now: Date, region?: string): Promise<Map<string, SeenHosts>> {
  const rows = await db
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .select(({ fn, eb, or }) => [
      "region",
      fn.countAll<number>().as("active"),
      fn
        .countAll<number>()
        .filterWhere(or([eb("seen_at", "is", null), eb("seen_at", "<=", new Date(now.getTime() - SILENT_AFTER_MS))]))
        .as("silent"),
    ])
    .where("state", "=", "active")
    .$if(region !== undefined, (query) => query.where("region", "=", region as string))
    .groupBy("region")
    .execute();
  return new Map(rows.map(({ region: of, active, silent }) => [of, { active, silent }]));
}

/** The hosts that placement chooses from. */
export const candidateHosts = (db: Db | Tx, region: string) =>
  db
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .select(["hosts.id", "failure_domain", "memory_mb", "disk_mb", "reserved_memory_mb", "reserved_disk_mb"])
    .select(["host_leases.seen_at", sql<number>`coalesce(host_leases.trash_mb, 0)`.as("trash_mb")])
    .where("region", "=", region)
    .where("state", "=", "active")
    .where("proven_fingerprint", "=", sql<string>`(select current_fingerprint())`)
    .execute();

export const reserve = (tx: Tx, hostId: number, memoryMb: number, diskMb: number): Promise<unknown> =>
  tx
    .updateTable("hosts")
    .set({
      reserved_memory_mb: sql`reserved_memory_mb + ${memoryMb}`,
      reserved_disk_mb: sql`reserved_disk_mb + ${diskMb}`,
    })
    .where("id", "=", hostId)
    .execute();

/**
 * Every change of a host's desired state passes here. Refused while this database may be older than what the host knows:
 * the revision would be assigned twice, and the host would ignore the change or take it for another one. A dead host
 * will not read it.
 */
export async function raiseRevision(tx: Tx, hostId: number): Promise<number> {
  const raised = await tx
    .updateTable("hosts")
    .set({ revision: sql`revision + 1` })
    .from("installation")
    .where("hosts.id", "=", hostId)
    .where("set_back_at", "is", null)
    .where("recovery_epoch", "is", null)
    .where(sql<boolean>`(state = 'dead' or proven_fingerprint = (select current_fingerprint()))`)
    .returning("revision")
    .executeTakeFirst();
  if (raised === undefined) throw hostsNotCompared();
  return raised.revision;
}

/** For a recovery alone, while everybody else waits for its end. */
export const raiseRevisionInRecovery = async (tx: Tx, hostId: number): Promise<number> => {
  const { revision } = await tx
    .updateTable("hosts")
    .set({ revision: sql`revision + 1` })
    .where("id", "=", hostId)
    .returning("revision")
    .executeTakeFirstOrThrow();
  return revision;
};

/** Undefined: there is no such host. */
export const allowDeletions = (
  tx: Tx,
  hostId: number,
  allowance: DeletionAllowance,
): Promise<{ id: number } | undefined> =>
  tx
    .updateTable("hosts")
    .set({ deletion_allowance: JSON.stringify(allowance) })
    .where("id", "=", hostId)
    .returning("id")
    .executeTakeFirst();

export const findHostByKey = (db: Db, key: Buffer): Promise<HostRow | undefined> =>
  db.selectFrom("hosts").selectAll().where("enrol_key_sha256", "=", key).executeTakeFirst();

/** Waits for a revocation that is under way. */
export const hasKey = async (tx: Tx, id: number, key: Buffer): Promise<boolean> =>
  (await tx
    .selectFrom("hosts")
    .select("id")
    .where("id", "=", id)
    .where("enrol_key_sha256", "=", key)
    .forUpdate()
    .executeTakeFirst()) !== undefined;

/**
 * From now on no certificate, key or token authenticates the host. Its nodes are not concerned. Repeatable; the host
 * must be locked.
 */
export async function dropIdentity(tx: Tx, host: Pick<HostRow, "id" | "enrol_key_sha256">, now: Date): Promise<void> {
  if (host.enrol_key_sha256 !== null)
    await tx
      .insertInto("revoked_host_keys")
      .values({ key_sha256: host.enrol_key_sha256, host_id: host.id, revoked_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  await tx
    .updateTable("hosts")
    .set({
      enrol_token_sha256: null,
      enrol_expires_at: null,
      enrol_key_sha256: null,
      revoked_at: now,
    })
    .where("id", "=", host.id)
    .execute();
  await forgetSources(tx, host.id);
}

export const isRevokedKey = async (tx: Tx, key: Buffer): Promise<boolean> =>
  (await tx.selectFrom("revoked_host_keys").select("host_id").where("key_sha256", "=", key).executeTakeFirst()) !==
  undefined;

export const renewLease = (db: Db, lease: Omit<Selectable<Tables["host_leases"]>, "unknown">): Promise<unknown> =>
  db
    .insertInto("host_leases")
    .values({ ...lease, unknown: [] })
    .onConflict((conflict) => conflict.column("host_id").doUpdateSet(lease))
    .execute();

export const saveUnknown = (db: Db, hostId: number, unknown: string[]): Promise<unknown> =>
  db.updateTable("host_leases").set({ unknown }).where("host_id", "=", hostId).execute();

export const readInstallation = (db: Db | Tx) => db.selectFrom("installation").selectAll().executeTakeFirstOrThrow();
