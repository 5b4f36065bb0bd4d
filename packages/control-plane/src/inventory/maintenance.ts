import type { Selectable } from "kysely";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import { texts } from "./texts.ts";

export type MaintenanceRow = Selectable<Tables["maintenance"]>;
export type MaintenanceStatus = MaintenanceRow["status"];

const before: Record<MaintenanceStatus, readonly MaintenanceStatus[]> = {
  pending: [],
  started: ["pending"],
  completed: ["pending", "started"],
  canceled: ["pending", "started"],
};

/** False: it already has this status, and there is nothing to do. */
export function isChange({ id, status }: MaintenanceRow, to: MaintenanceStatus): boolean {
  if (status === to) return false;
  if (before[to].includes(status)) return true;
  throw new DomainError("wrong-state", {
    reason: texts.maintenanceStatus({ id, status, allowed: before[to], to }),
  });
}

const DAY_MS = 86_400_000;
/** Completed maintenance stays visible, so that somebody who finds an instance rebooted finds out why. */
const SHOWN_DAYS = 7;
export const shownSince = (now: Date): Date => new Date(now.getTime() - SHOWN_DAYS * DAY_MS);
