import type { EventAction, EventStatus, Notification } from "@moorage/contract";
import type { DiskState } from "@moorage/contract/agent";
import { forTenants } from "#fleet/index.ts";

/** What a host found. It reports `disk` when it changes, and a verification after each attempt. */
export type NodeAlert = { kind: "disk"; disk: DiskState } | { kind: "verification"; ok: boolean; message: string };

/** What the tenant gets: an event, and a notification that is opened or closed. */
export type Judgement = {
  event?: { action: EventAction; status: EventStatus; message: string };
  notice?: Pick<Notification, "type" | "severity" | "label" | "message" | "body">;
};

/** Pure. `label` is the database's. */
export function judge(alert: NodeAlert, label: string): Judgement {
  return alert.kind === "disk" ? judgeDisk(alert.disk, label) : judgeVerification(alert, label);
}

function judgeDisk(disk: DiskState, label: string): Judgement {
  if (disk === "ok")
    return { event: { action: "database_low_disk_space", status: "finished", message: "There is room again." } };
  const readOnly = disk === "read_only";
  const message = readOnly
    ? `The disk of ${label} is full, so it takes no writes; reads work. Resize it to a type with more disk.`
    : `Nine tenths of the disk of ${label} are used. Delete data or resize it to a type with more disk; when it is full it takes no writes.`;
  return {
    event: { action: "database_low_disk_space", status: "notification", message },
    notice: {
      type: "notice",
      severity: readOnly ? "critical" : "major",
      label: readOnly ? "Database is read-only" : "Database is low on disk space",
      message,
      body: null,
    },
  };
}

function judgeVerification({ ok, message }: { ok: boolean; message: string }, label: string): Judgement {
  if (ok) return {};
  const found = forTenants(message);
  return {
    event: { action: "database_backup_verification", status: "failed", message: found },
    notice: {
      type: "notice",
      severity: "critical",
      label: "Backup failed its verification",
      message: `The newest backup of ${label} could not be restored for a check: ${found}`,
      body: "The database itself is not affected. The operator can see it too; take a snapshot to have another backup.",
    },
  };
}
