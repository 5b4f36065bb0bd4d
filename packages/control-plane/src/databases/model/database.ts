/**
 * The statuses of a database and what is allowed in each, its replication, and what a change may not touch. No other
 * file decides a status.
 */
import type { DatabaseStatus, MysqlDatabaseChange, NewMysqlDatabase } from "@moorage/contract";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Plan } from "#regions/index.ts";
import type { DatabaseRow } from "./database-store.ts";
import { idsOfEngine } from "./engine.ts";
import { texts } from "./texts.ts";

export type DatabaseAction =
  | "update"
  | "resize"
  | "patch"
  | "back up"
  | "restore"
  | "suspend"
  | "resume"
  | "switch over"
  | "promote a node of"
  | "delete"
  | "fork"
  | "reset the credentials of"
  | "read the credentials of"
  | "read the SSL certificate of"
  | "read the backups of"
  | "delete a backup of";

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
  // A list and a password that leaked cannot wait until a lost node is back.
  update: ["active", "degraded"],
  resize: ["active"],
  patch: ["active"],
  "back up": ["active"],
  restore: ["active", "degraded", "failed"],
  suspend: ["active"],
  resume: ["suspended"],
  "switch over": ["active"],
  // Every other operation needs a primary too.
  "promote a node of": ["active", "degraded", "updating", "backing_up", "restoring", "resuming"],
  delete: ["active", "failed", "degraded"],
  fork: onceMade,
  "reset the credentials of": ["active", "degraded"],
  "read the credentials of": onceMade,
  "read the SSL certificate of": onceMade,
  "read the backups of": onceMade,
  "delete a backup of": onceMade,
};

/** Work on a database: its status during the work, and after success or failure. */
export type Work =
  | "provision"
  | "update"
  | "resize"
  | "patch"
  | "reset"
  | "backup"
  | "restore"
  | "suspend"
  | "resume"
  | "switchover";
type End = DatabaseStatus | "as before";
type Course = { during: DatabaseStatus; done: End; failed: End };

const courses = {
  provision: { during: "provisioning", done: "active", failed: "failed" },
  // Neither heals a degraded database.
  update: { during: "updating", done: "as before", failed: "as before" },
  resize: { during: "updating", done: "active", failed: "active" },
  patch: { during: "updating", done: "active", failed: "active" },
  reset: { during: "updating", done: "as before", failed: "as before" },
  backup: { during: "backing_up", done: "active", failed: "active" },
  // The previous data are kept until the restore is done, so a failure returns to the status that the database had with
  // them.
  restore: { during: "restoring", done: "active", failed: "as before" },
  suspend: { during: "suspending", done: "suspended", failed: "active" },
  resume: { during: "resuming", done: "active", failed: "suspended" },
  switchover: { during: "updating", done: "active", failed: "active" },
} as const satisfies Record<Work, Course>;

class WrongDatabaseStatus extends DomainError {
  override readonly name = "WrongDatabaseStatus";
  constructor(action: DatabaseAction, status: DatabaseStatus) {
    super("wrong-state", { reason: texts.wrongStatus({ action, status, allowed: allowed[action] }) });
  }
}

export function requireActionAllowed(action: DatabaseAction, status: DatabaseStatus): void {
  if (!allowed[action].includes(status)) throw new WrongDatabaseStatus(action, status);
}

export const initialStatus: DatabaseStatus = courses.provision.during;

/** A failed database that is stopped stays failed: resuming it would be no use. */
export const statusDuring = (work: Work, before?: DatabaseStatus): DatabaseStatus =>
  work === "suspend" && before === "failed" ? before : courses[work].during;

/** The status after the work. A status that is not the work's own was set meanwhile, and stays. */
export function statusAfter(
  work: Work,
  status: DatabaseStatus,
  { done, degraded, before = "active" }: { done: boolean; degraded?: boolean; before?: DatabaseStatus | undefined },
): DatabaseStatus {
  const course: Course = courses[work];
  if (status !== course.during) return status;
  if (done && degraded === true) return "degraded";
  const end = done ? course.done : course.failed;
  return end === "as before" ? before : end;
}

/** No operation is under way. */
export const isIdle = (status: DatabaseStatus): boolean =>
  !Object.values(courses).some(({ during }) => during === status);

/** After our database was set back, the hosts' state counts, and they know whether the database runs. */
export function statusByPower(status: DatabaseStatus, powered: boolean): DatabaseStatus {
  if (powered) return status === courses.suspend.done ? courses.resume.done : status;
  return status === courses.resume.done ? courses.suspend.done : status;
}

type Replicated = Pick<NewMysqlDatabase, "cluster_size" | "replication_type">;

export function replicationFaults({ cluster_size, replication_type }: Partial<Replicated>): ErrorDetail[] {
  if (cluster_size === undefined || replication_type === undefined) return [];
  if ((cluster_size === 1) === (replication_type === "none")) return [];
  const valid = cluster_size === 1 ? texts.oneNodeIsNotReplicated() : texts.threeNodesAreReplicated();
  return [{ field: "replication_type", reason: invalidReason("replication_type", valid) }];
}

/** One node has nothing to replicate. Three are semi-synchronous, unless requested otherwise. */
export const replicationOf = ({ cluster_size, replication_type }: Replicated): DatabaseRow["replication_type"] =>
  cluster_size === 1 ? "none" : (replication_type ?? "semi_synch");

export const isCluster = ({ cluster_size }: Pick<DatabaseRow, "cluster_size">): boolean => cluster_size > 1;

/** The control plane assigns the primary; no group elects it. */
export const isAsynchronous = ({ replication_type }: Pick<DatabaseRow, "replication_type">): boolean =>
  replication_type === "asynch";

/** Clients send back what they read, so an equal value is no change; a different one is refused, naming its field. */
export function faultsOfFixedFields(
  database: Pick<
    DatabaseRow,
    "engine_version" | "region" | "cluster_size" | "encrypted" | "ssl_connection" | "replication_type"
  >,
  change: MysqlDatabaseChange,
): ErrorDetail[] {
  const ids = idsOfEngine(database.engine_version);
  const [engine = ""] = database.engine_version.split("/");
  const fixed: { [Field in keyof MysqlDatabaseChange]?: readonly unknown[] } = {
    engine: [engine, ...ids],
    version: ids.map((id) => id.slice(engine.length + 1)),
    region: [database.region],
    cluster_size: [database.cluster_size],
    encrypted: [database.encrypted],
    ssl_connection: [database.ssl_connection],
    replication_type: [database.replication_type],
  };
  return Object.entries(fixed)
    .map(([field, equal]) => ({ field, equal, sent: change[field as keyof MysqlDatabaseChange] }))
    .filter(({ equal, sent }) => sent !== undefined && !equal.includes(sent))
    .map(({ field, equal }) => ({ field, reason: texts.fieldFixed({ field, equal }) }));
}

/** A database only grows. A resize must be the only change, so a new allow list has to wait. */
export function faultsOfType(
  { current, offered }: { current: Plan; offered: readonly Plan[] },
  { type, listChanges }: { type: string; listChanges: boolean },
): ErrorDetail[] {
  const larger = offered.filter(({ disk_mb }) => disk_mb > current.disk_mb).map(({ id }) => id);
  const notLarger = texts.typeNotLarger({ current: current.id, larger });
  return [
    ...(larger.includes(type) ? [] : [{ field: "type", reason: invalidReason("type", notLarger) }]),
    ...(listChanges ? [{ field: "type", reason: texts.typeChangedWithAllowList() }] : []),
  ];
}

export const labelTaken = (label: string): DomainError =>
  new DomainError("invalid", { field: "label", reason: texts.labelTaken({ label }) });
