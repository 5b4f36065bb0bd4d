import type { EventAction, EventStatus } from "@moorage/contract";
import type { DiskState } from "@moorage/contract/agent";
import { forTenants } from "#fleet/index.ts";
import type { Notice } from "#notifications/index.ts";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

/** What a host found. It reports `disk` when it changes, and a verification after each attempt. */
export type NodeAlert = { kind: "disk"; disk: DiskState } | { kind: "verification"; ok: boolean; message: string };

/** What the tenant gets: an event, and a notification that is opened or closed. */
export type Judgement = {
  event?: { action: EventAction; status: EventStatus; message: Text };
  notice?: Notice;
};

/** Pure. `label` is the database's. */
export function judge(alert: NodeAlert, label: string): Judgement {
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
