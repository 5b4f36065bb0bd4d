import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Sealer } from "#platform/seal.ts";
import { openWork } from "../changes/change.ts";
import type { ColumnChange, ColumnChangeInput } from "../changes/column-changes.ts";
import { type DatabaseChange, type DatabaseRow, lockDatabase, saveDatabase } from "../model/database-store.ts";
import { requireActionAllowed, statusDuring } from "../model/database.ts";

export type ChangeDeps = {
  db: Db;
  clock: Clock;
  sealer: Sealer;
  nudgeRelay: () => void;
  changeDeadlineSeconds: number;
  /** For a change that restarts nothing. */
  updateDeadlineSeconds: number;
};

/** A change that a tenant requests with an operation of its own. */
type RequestedChange = ColumnChange & Required<Pick<ColumnChange, "request">>;
export const isRequested = (change: ColumnChange): change is RequestedChange => change.request !== undefined;

/** The writing step of a request, at which a fault drill can kill the process. */
export const stepOf = ({ request }: RequestedChange): string => `api.${request.operation.id}`;

export function changeRoute(app: FastifyInstance, deps: RouteDeps & ChangeDeps, change: RequestedChange): void {
  route(app, deps, change.request.operation, async ({ principal, params, idempotency }) => {
    await changeDatabase(deps, change, { by: principal, id: params.instanceId, idempotency });
    return {};
  });
}

/** One requested change in one transaction. */
async function changeDatabase(
  { db, clock, sealer, nudgeRelay, changeDeadlineSeconds, updateDeadlineSeconds }: ChangeDeps,
  change: RequestedChange,
  { by, id, idempotency }: { by: Principal; id: number; idempotency: Idempotency },
): Promise<void> {
  await transact(db, stepOf(change), async (tx) => {
    await idempotency.claim(tx);
    const before = await lockDatabase(tx, by.accountId, id);
    if (before.deleted_at !== null) throw notFound();
    requireActionAllowed(change.action, before.status);
    const at = clock();
    const columns = await change.request.columns({ tx, before, by, at, sealer });
    if (columns !== undefined)
      await openChange(tx, before, {
        change,
        columns,
        username: by.username,
        at,
        // A lost node is replaced after the change, which may wait for that node's host in vain.
        deadlineSeconds: before.status === "degraded" ? updateDeadlineSeconds : changeDeadlineSeconds,
      });
    await idempotency.keep(tx, {});
  });
  nudgeRelay();
}

export type Opened = {
  change: ColumnChange;
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
  const { change, columns, username, at, detail = {} } = opened;
  const { account_id: accountId, id } = before;
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
    input: { previous, before: before.status } satisfies ColumnChangeInput,
  });
}
