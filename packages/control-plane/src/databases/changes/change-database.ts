import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { type ColumnChangeInput, type ColumnChangeKind, columnChangeOf } from "./column-changes.ts";
import { requireActionAllowed, statusDuring } from "../database.ts";
import { type DatabaseChange, type DatabaseRow, lockDatabase, saveDatabase } from "../database-store.ts";
import { openWork } from "./open-work.ts";

/** The writing steps of the changes with an operation of their own: a resize belongs to an update. */
export const changeSteps = [
  "api.suspendMysqlDatabase",
  "api.resumeMysqlDatabase",
  "api.patchMysqlDatabase",
  "api.resetMysqlCredentials",
] as const;

export type ChangeDeps = { db: Db; clock: Clock; nudgeRelay: () => void; changeDeadlineSeconds: number };

type ChangeRequest = {
  kind: ColumnChangeKind;
  step: (typeof changeSteps)[number];
  by: Principal;
  id: number;
  idempotency: Idempotency;
};

/** One requested change in one transaction. No columns: the hosts have nothing to do. */
export async function changeDatabase(
  deps: ChangeDeps,
  { kind, step, by, id, idempotency }: ChangeRequest,
  columnsOf: (tx: Tx, before: DatabaseRow) => Promise<DatabaseChange | undefined> | DatabaseChange,
): Promise<void> {
  await transact(deps.db, step, async (tx) => {
    await idempotency.claim(tx);
    const before = await lockDatabase(tx, by.accountId, id);
    if (before.deleted_at !== null) throw notFound();
    requireActionAllowed(columnChangeOf(kind).action, before.status);
    const columns = await columnsOf(tx, before);
    if (columns !== undefined)
      await openChange(tx, before, {
        kind,
        columns,
        username: by.username,
        at: deps.clock(),
        deadlineSeconds: deps.changeDeadlineSeconds,
      });
    await idempotency.keep(tx, {});
  });
  deps.nudgeRelay();
}

export type Opened = {
  kind: ColumnChangeKind;
  columns: DatabaseChange;
  /** Null: no user requested it, it was due. */
  username: string | null;
  at: Date;
  /** For each wait for hosts: in a rolling change each node has this time. */
  deadlineSeconds: number;
  /** The limit of the whole change, where something else ends earlier. */
  atMostSeconds?: number;
  detail?: object;
};

/** Columns, status, operation, audit entry and events of a change, in the transaction that accepts it. */
export async function openChange(tx: Tx, before: DatabaseRow, opened: Opened): Promise<void> {
  const { kind, columns, username, at, detail = {} } = opened;
  const { account_id: accountId, id } = before;
  const change = columnChangeOf(kind);
  const { work, keeps, rolls = false } = change;
  const deadlineSeconds = Math.min(
    opened.deadlineSeconds * (rolls ? before.cluster_size : 1),
    opened.atMostSeconds ?? Number.POSITIVE_INFINITY,
  );
  await saveDatabase(tx, accountId, id, { ...columns, status: statusDuring(work, before.status), updated_at: at });
  const previous = Object.fromEntries(keeps.map((column) => [column, before[column]]));
  await openWork(tx, before, change, {
    detail,
    username,
    at,
    deadlineSeconds,
    input: { previous } satisfies ColumnChangeInput,
  });
}
