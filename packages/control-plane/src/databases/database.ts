import type { DatabaseStatus, NewMysqlDatabase, Updates } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";

/** The states of a database and what may be done in each. No other file decides a status. */

export type DatabaseAction = "delete" | "read the credentials of";

const allowed: Record<DatabaseAction, readonly DatabaseStatus[]> = {
  delete: ["active", "failed", "degraded"],
  "read the credentials of": [
    "active",
    "updating",
    "backing_up",
    "restoring",
    "degraded",
    "suspending",
    "suspended",
    "resuming",
    "failed",
  ],
};

export class WrongDatabaseStatus extends DomainError {
  override readonly name = "WrongDatabaseStatus";
  constructor(action: DatabaseAction, status: DatabaseStatus) {
    super("wrong-state", {
      reason: `Cannot ${action} a database that is ${status}; it must be ${listOf(allowed[action])}.`,
    });
  }
}

export function requireActionAllowed(action: DatabaseAction, status: DatabaseStatus): void {
  if (!allowed[action].includes(status)) throw new WrongDatabaseStatus(action, status);
}

const listOf = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

export const initialStatus: DatabaseStatus = "provisioning";

/** provisioning → active | failed. Anything else was decided meanwhile and stays. */
export const statusAfterProvision = (status: DatabaseStatus, done: boolean): DatabaseStatus =>
  status === "provisioning" ? (done ? "active" : "failed") : status;

export const defaultUpdates: Updates = {
  frequency: "weekly",
  duration: 3,
  hour_of_day: 20,
  day_of_week: 7,
  week_of_month: null,
};

/** One node has nothing to replicate; three nodes are not offered yet. */
export function replicationOf(request: Pick<NewMysqlDatabase, "cluster_size" | "replication_type">): "none" {
  if (request.cluster_size !== 1)
    throw new DomainError("invalid", {
      field: "cluster_size",
      reason: "cluster_size must be a valid value: 1 (three nodes are not offered yet)",
    });
  if (request.replication_type !== undefined && request.replication_type !== "none")
    throw new DomainError("invalid", {
      field: "replication_type",
      reason: "replication_type must be a valid value: none, for a database of one node",
    });
  return "none";
}
