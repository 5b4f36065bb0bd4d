import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Text } from "@moorage/contract/texts";
import { isCurrent, isCurrentFor, refusalOf } from "./current.ts";

export type OperationRow = Selectable<Tables["operations"]>;

export type NewOperation = {
  accountId: number;
  kind: string;
  entityId: number;
  /** The database that it changes: then only the hosts of this database must be proven. */
  database?: number;
  /** Values that settling the operation needs and that no other row will have by then. */
  input?: object;
  at: Date;
  deadlineSeconds: number;
};

/** How long after its start a workflow is first checked by the sweeper. */
const FIRST_SWEEP_SECONDS = 30;
const after = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000);

/** Requests durable work, in the transaction of the change that needs it. */
export async function openOperation(tx: Tx, operation: NewOperation): Promise<{ id: number }> {
  const { rows } = await opening({
    ...operation,
    operationId: sql`next_id('operations_seq')`,
    eventId: sql`null`,
    input: JSON.stringify(operation.input ?? {}),
    ...timesOf(operation.at, operation.deadlineSeconds),
  }).execute(tx);
  if (rows[0] === undefined) throw await refusalOf(tx, operation.database);
  return rows[0];
}

export const timesOf = (at: Date, deadlineSeconds: number) => ({
  deadlineAt: after(at, deadlineSeconds),
  sweepAt: after(at, FIRST_SWEEP_SECONDS),
});

type OperationColumns = Omit<NewOperation, "deadlineSeconds" | "input"> &
  ReturnType<typeof timesOf> & {
    input: string;
    operationId: number | RawBuilder<unknown>;
    eventId: RawBuilder<unknown>;
  };

/**
 * The part of a statement that opens an operation, or one for each row of another part if given. Opens none while the
 * control plane is, or may be, behind its hosts: ids and generations could be assigned twice.
 */
export const opening = (operation: OperationColumns, from: RawBuilder<unknown> = sql`from installation`) => sql<{
  id: number;
}>`
  insert into operations (account_id, id, kind, entity_id, event_id, input, created_at, deadline_at, sweep_at)
  select ${operation.accountId}::bigint, ${operation.operationId}::bigint, ${operation.kind}::text,
    ${operation.entityId}::bigint, ${operation.eventId}::bigint, ${operation.input}::jsonb, ${operation.at}::timestamptz,
    ${operation.deadlineAt}::timestamptz, ${operation.sweepAt}::timestamptz
  ${from} where ${operation.database === undefined ? isCurrent : isCurrentFor(operation.database)}
  returning id`;

export const linkEvent = (tx: Tx, operationId: number, eventId: number): Promise<unknown> =>
  tx.updateTable("operations").set({ event_id: eventId }).where("id", "=", operationId).execute();

/** The first event is the operation's own; the others end with it. */
export const linkEvents = (tx: Tx, operationId: number, [first, ...further]: readonly number[]): Promise<unknown> =>
  tx
    .updateTable("operations")
    .set({
      event_id: first ?? null,
      ...(further.length === 0
        ? {}
        : { input: sql`input || ${JSON.stringify({ further_events: further })}::jsonb` as never }),
    })
    .where("id", "=", operationId)
    .execute();

/** Adds values that settling the operation needs, and sets another deadline if given. */
export const noteInOperation = (tx: Tx, operationId: number, input: object, deadlineAt?: Date): Promise<unknown> =>
  tx
    .updateTable("operations")
    .set({
      input: sql`input || ${JSON.stringify(input)}::jsonb` as never,
      ...(deadlineAt === undefined ? {} : { deadline_at: deadlineAt }),
    })
    .where("id", "=", operationId)
    .execute();

export const findOperation = (db: Db | Tx, id: number): Promise<OperationRow> =>
  db.selectFrom("operations").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

/**
 * Progress of an open operation, for people to watch. It never falls: a retry starts at 0, and the owner has seen more.
 * 100 is for an operation that has succeeded.
 */
export const raisePercent = (db: Db, id: number, percent: number): Promise<unknown> =>
  db
    .updateTable("operations")
    .set({ percent: Math.min(percent, 99) })
    .where("id", "=", id)
    .where("percent", "<", Math.min(percent, 99))
    .where("settled_at", "is", null)
    .execute();

/**
 * Progress of an operation that may become unnecessary: `needed` joins and checks the rows that it depends on. Returns
 * whether the operation is open and needed.
 */
export async function raisePercentWhile(
  db: Db,
  id: number,
  percent: number,
  needed: { from: RawBuilder<unknown>; where: RawBuilder<unknown> },
): Promise<boolean> {
  const { rows } = await sql`
    update operations set percent = greatest(operations.percent, ${percent}::integer) ${needed.from}
    where operations.id = ${id} and operations.settled_at is null and ${needed.where} returning operations.id`.execute(
    db,
  );
  return rows.length > 0;
}

/** Settles the operation, once. Undefined: another caller was first and committed everything that belongs to it. */
export const settleOperation = (
  tx: Tx,
  id: number,
  end: { outcome: "done" | "failed"; message?: Text; at: Date },
): Promise<OperationRow | undefined> =>
  tx
    .updateTable("operations")
    .set({
      settled_at: end.at,
      outcome: end.outcome,
      message: end.message?.text ?? null,
      message_code: end.message?.code ?? null,
    })
    .where("id", "=", id)
    .where("settled_at", "is", null)
    .returningAll()
    .executeTakeFirst();

export const operationsToStart = (db: Db, limit: number): Promise<OperationRow[]> =>
  db
    .selectFrom("operations")
    .selectAll()
    .where("started_at", "is", null)
    .where("settled_at", "is", null)
    .orderBy("id")
    .limit(limit)
    .execute();

export const markStarted = (db: Db, ids: readonly number[], at: Date): Promise<unknown> =>
  db
    .updateTable("operations")
    .set({ started_at: at, sweep_at: after(at, FIRST_SWEEP_SECONDS) })
    .where("id", "in", ids)
    .execute();

export const operationsToSweep = (db: Db, now: Date, limit: number): Promise<OperationRow[]> =>
  db
    .selectFrom("operations")
    .selectAll()
    .where("settled_at", "is", null)
    .where("sweep_at", "<=", now)
    .orderBy("sweep_at")
    .limit(limit)
    .execute();

export const sweepAgain = (db: Db, id: number, now: Date, seconds: number): Promise<unknown> =>
  db
    .updateTable("operations")
    .set({ sweep_at: after(now, seconds) })
    .where("id", "=", id)
    .execute();

/** Only one sweeper gets the next run. */
export const nextRun = (db: Db, operation: OperationRow): Promise<OperationRow | undefined> =>
  db
    .updateTable("operations")
    .set({ run: operation.run + 1, started_at: null })
    .where("id", "=", operation.id)
    .where("run", "=", operation.run)
    .where("settled_at", "is", null)
    .returningAll()
    .executeTakeFirst();

export const signalsToSend = (db: Db, limit: number) =>
  db
    .selectFrom("signals")
    .innerJoin("operations", "operations.id", "signals.operation_id")
    .select(["signals.id", "signals.operation_id", "operations.run", "operations.settled_at"])
    .orderBy("signals.id")
    .limit(limit)
    .execute();

/** A row that is locked is being added again, with a new id: it must be sent again. */
export const deleteSignals = (db: Db, ids: readonly number[]): Promise<unknown> =>
  db
    .deleteFrom("signals")
    .where("id", "in", (query) =>
      query.selectFrom("signals").select("id").where("id", "in", ids).forUpdate().skipLocked(),
    )
    .execute();

/**
 * Hosts report their nodes repeatedly: an operation has one signal at most. Added again, it gets a new id, because the
 * relay may have sent it already and is about to delete it. After the operation has ended there is no workflow to
 * signal.
 */
export const addSignal = async (tx: Tx, operationId: number): Promise<boolean> => {
  const { rows } = await sql`
    insert into signals (operation_id) select id from operations where id = ${operationId} and settled_at is null
    on conflict (operation_id) do update set id = excluded.id returning id`.execute(tx);
  return rows.length > 0;
};
