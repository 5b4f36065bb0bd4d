import type { DatabaseStatus, MysqlDatabaseChange, NewMysqlDatabase } from "@moorage/contract";
import { DomainError, type ErrorDetail } from "#platform/errors.ts";
import type { DatabaseRow } from "./database-store.ts";

/** The states of a database and what may be done in each. No other file decides a status. */

export type DatabaseAction = "update" | "delete" | "read the credentials of" | "read the SSL certificate of";

const onceMade: readonly DatabaseStatus[] = [
  "active",
  "updating",
  "backing_up",
  "restoring",
  "degraded",
  "suspending",
  "suspended",
  "resuming",
  "failed",
];

const allowed: Record<DatabaseAction, readonly DatabaseStatus[]> = {
  update: ["active"],
  delete: ["active", "failed", "degraded"],
  "read the credentials of": onceMade,
  "read the SSL certificate of": onceMade,
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

/** active → updating while hosts are to follow. */
export const statusDuringUpdate = (status: DatabaseStatus, reachesHosts: boolean): DatabaseStatus =>
  reachesHosts ? "updating" : status;

/** updating → active, with the new list or with the one before it. Anything else was decided meanwhile and stays. */
export const statusAfterUpdate = (status: DatabaseStatus): DatabaseStatus =>
  status === "updating" ? "active" : status;

/** Clients send back what they read, so an equal value is no change; another one is refused by its field. */
export function faultsOfFixedFields(
  database: Pick<
    DatabaseRow,
    "plan" | "engine_version" | "region" | "cluster_size" | "encrypted" | "ssl_connection" | "replication_type"
  >,
  change: MysqlDatabaseChange,
): ErrorDetail[] {
  const [engine = ""] = database.engine_version.split("/");
  const fixed: { [Field in keyof MysqlDatabaseChange]?: readonly unknown[] } = {
    engine: [engine, database.engine_version],
    region: [database.region],
    cluster_size: [database.cluster_size],
    encrypted: [database.encrypted],
    ssl_connection: [database.ssl_connection],
    replication_type: [database.replication_type],
  };
  const faults = Object.entries(fixed)
    .map(([field, equal]) => ({ field, equal, sent: change[field as keyof MysqlDatabaseChange] }))
    .filter(({ equal, sent }) => sent !== undefined && !equal.includes(sent))
    .map(({ field }) => ({ field, reason: `${field} cannot be changed` }));
  return change.type === undefined || change.type === database.plan
    ? faults
    : [
        ...faults,
        { field: "type", reason: `type must be a valid value: ${database.plan} (resizing is not offered yet)` },
      ];
}

export const labelTaken = (label: string): DomainError =>
  new DomainError("invalid", {
    field: "label",
    reason: `Label must be unique among your databases: "${label}" is taken.`,
  });

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
