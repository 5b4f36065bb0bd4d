import type { Capture, CaptureReport } from "@moorage/contract/agent";
import { type JoinBuilder, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { CaptureHost } from "./capture.ts";

export type CaptureRow = Selectable<Tables["captures"]>;

/** Locked until the end of the transaction: the host cannot be removed meanwhile. */
export async function holdHost(tx: Tx, id: number | null): Promise<CaptureHost | undefined> {
  const host =
    id === null
      ? undefined
      : await tx.selectFrom("hosts").select("state").where("id", "=", id).forKeyShare().executeTakeFirst();
  if (host === undefined) return undefined;
  const lease = await tx.selectFrom("host_leases").select("captures").where("host_id", "=", id).executeTakeFirst();
  return { state: host.state, captures: lease?.captures };
}

export const insertCapture = (
  tx: Tx,
  capture: Pick<
    CaptureRow,
    "account_id" | "image_id" | "operation_id" | "host_id" | "disk_id" | "device" | "max_bytes" | "created_at"
  >,
): Promise<unknown> => tx.insertInto("captures").values(capture).execute();

const diskOfAccount = (join: JoinBuilder<Tables, "captures" | "disks">) =>
  join.onRef("disks.id", "=", "captures.disk_id").onRef("disks.account_id", "=", "captures.account_id");

/** Captures that are still desired: not settled, image not deleted, disk not transferred to another account. */
const desiredCaptures = (db: Db | Tx, hostId: number) =>
  db
    .selectFrom("captures")
    .innerJoin("operations", "operations.id", "captures.operation_id")
    .innerJoin("images", "images.id", "captures.image_id")
    .innerJoin("disks", diskOfAccount)
    .where("captures.host_id", "=", hostId)
    .where("operations.settled_at", "is", null)
    .where("images.deleted_at", "is", null);

export const listDesiredCaptures = (db: Db, hostId: number): Promise<Capture[]> =>
  desiredCaptures(db, hostId)
    .select(["captures.id", "captures.device", "captures.max_bytes"])
    .orderBy("captures.created_at")
    .orderBy("captures.id")
    .execute();

/** Undefined: the host has no such capture to perform. */
export const findDesiredCapture = (db: Db | Tx, hostId: number, id: string) =>
  desiredCaptures(db, hostId)
    .select(["images.id as image_id", "images.region"])
    .where("captures.id", "=", id)
    .executeTakeFirst();

/** Only a capture's own host may report it, and a final state stays: a restarted host begins again. */
export const saveReport = (
  tx: Tx,
  hostId: number,
  report: CaptureReport,
  at: Date,
): Promise<{ operation_id: number } | undefined> =>
  tx
    .updateTable("captures")
    .set({
      observed_state: report.state,
      observed_percent: report.percent,
      observed_message: report.message ?? null,
      observed_content: report.content ?? null,
      observed_at: at,
    })
    .where("id", "=", report.id)
    .where("host_id", "=", hostId)
    .where(sql<boolean>`coalesce(observed_state, 'working') = 'working'`)
    .returning("operation_id")
    .executeTakeFirst();

/** A capture with its related rows. Undefined: it has ended. */
export const findCaptureWork = (db: Db | Tx, operationId: number) =>
  db
    .selectFrom("captures")
    .innerJoin("images", "images.id", "captures.image_id")
    .innerJoin("hosts", "hosts.id", "captures.host_id")
    .leftJoin("host_leases", "host_leases.host_id", "captures.host_id")
    .leftJoin("disks", diskOfAccount)
    .selectAll("captures")
    .select("disks.id as own_disk")
    .select(["images.region", "images.deleted_at as image_deleted_at", "hosts.state as host_state"])
    .select(["host_leases.captures as host_captures", "host_leases.seen_at"])
    .where("captures.operation_id", "=", operationId)
    .executeTakeFirst();
export type CaptureWork = NonNullable<Awaited<ReturnType<typeof findCaptureWork>>>;

/**
 * Until the end of the transaction nobody can transfer its instance, even if it was removed. False: it was transferred.
 */
export const holdInstance = async (tx: Tx, { account_id, disk_id }: CaptureRow): Promise<boolean> =>
  (await tx
    .selectFrom("computes")
    .innerJoin("disks", "disks.compute_id", "computes.id")
    .select("computes.id")
    .where("disks.id", "=", disk_id)
    .where("computes.account_id", "=", account_id)
    .forShare("computes")
    .executeTakeFirst()) !== undefined;

export const endCapture = (tx: Tx, operationId: number): Promise<unknown> =>
  tx.deleteFrom("captures").where("operation_id", "=", operationId).execute();
