import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import { SILENT_AFTER_MS } from "./placement.ts";

export type HostRow = Selectable<Tables["hosts"]>;

/** Locks in the order of ids, so that two operations on the same hosts cannot deadlock. */
export const lockHosts = (tx: Tx, ids: readonly number[]): Promise<HostRow[]> =>
  tx.selectFrom("hosts").selectAll().where("id", "in", ids).orderBy("id").forUpdate().execute();

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

/** The hosts that placement chooses from. */
export const candidateHosts = (db: Db | Tx, region: string) =>
  db
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .select(["hosts.id", "failure_domain", "memory_mb", "disk_mb", "reserved_memory_mb", "reserved_disk_mb"])
    .select(["host_leases.seen_at", sql<number>`coalesce(host_leases.trash_mb, 0)`.as("trash_mb")])
    .where("region", "=", region)
    .where("state", "=", "active")
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

export const raiseRevision = async (tx: Tx, hostId: number): Promise<number> => {
  const { revision } = await tx
    .updateTable("hosts")
    .set({ revision: sql`revision + 1` })
    .where("id", "=", hostId)
    .returning("revision")
    .executeTakeFirstOrThrow();
  return revision;
};

export const findHostByCertificate = (db: Db, fingerprint: Buffer): Promise<HostRow | undefined> =>
  db
    .selectFrom("hosts")
    .selectAll()
    .where((is) =>
      is.or([is("certificate_sha256", "=", fingerprint), is("previous_certificate_sha256", "=", fingerprint)]),
    )
    .executeTakeFirst();

/** The host has used its newest certificate: the previous one is no longer valid. */
export const dropPreviousCertificate = (db: Db, hostId: number): Promise<unknown> =>
  db.updateTable("hosts").set({ previous_certificate_sha256: null }).where("id", "=", hostId).execute();

export const renewLease = (db: Db, lease: Omit<Selectable<Tables["host_leases"]>, "unknown">): Promise<unknown> =>
  db
    .insertInto("host_leases")
    .values({ ...lease, unknown: [] })
    .onConflict((conflict) => conflict.column("host_id").doUpdateSet(lease))
    .execute();

export const saveUnknown = (db: Db, hostId: number, unknown: string[]): Promise<unknown> =>
  db.updateTable("host_leases").set({ unknown }).where("host_id", "=", hostId).execute();

export const readInstallation = (db: Db | Tx) => db.selectFrom("installation").selectAll().executeTakeFirstOrThrow();
