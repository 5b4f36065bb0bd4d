import type { EventAction, EventStatus } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { emit, endEvent } from "#events/index.ts";
import type { HostsToWake } from "#fleet/index.ts";
import { linkEvents, openOperation, type OperationRow, settleOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { entityOf, targetOf } from "../model/entity.ts";
import type { ArchiveSettings } from "../model/timeline-store.ts";
import { loadDatabase, wakeHosts } from "../spec/desired-specs.ts";

export type Engine = { db: Db; clock: Clock; zone: string; archive: ArchiveSettings };

/** The database of an operation, locked, and everything that its nodes' specs are made from. */
export type ChangeContext = Awaited<ReturnType<typeof loadDatabase>> & Pick<Engine, "zone">;

/** `dnsPublished`: the database's DNS records now point to its hosts. `degraded`: done, but not all nodes serve. */
export type Settlement = { done: boolean; message?: Text; dnsPublished?: boolean; degraded?: boolean };

type AtEnd<Result> = (tx: Tx, context: ChangeContext, settlement: Settlement, at: Date) => Promise<Result>;

/** One kind of operation on a database: how it is recorded, and what its end means. All of them: `databases/table.ts`. */
export type Change = {
  /** The name of its workflow. */
  kind: string;
  audited: string;
  /** Each starts and ends with the change. The first is the operation's. */
  events: readonly [EventAction, ...EventAction[]];
  /** Events that happen once, when the change is accepted. */
  notices?: readonly EventAction[];
  /** The message of a change that the sweeper ends at its deadline. Without: `judge` finds the reason. */
  late?: () => Text;
  /** Outcome and message by the rows. Without: what the workflow proposes. */
  judge?: AtEnd<Settlement>;
  /** Writes the rows of the end and sets the desired state that follows, in the transaction that ends the operation. */
  end: AtEnd<HostsToWake | undefined>;
};

/** The result of a step, and the hosts whose desired state it changed. */
export type Taken<Answer> = { answer: Answer; hosts?: readonly number[] };

type NewWork = {
  input?: object;
  detail?: object;
  /** Null: no user requested it, it was due. */
  username: string | null;
  at: Date;
  deadlineSeconds: number;
};

/** Operation, audit entry and started events of work that takes time, in the transaction that accepts it. */
export async function openWork(
  tx: Tx,
  database: Pick<DatabaseRow, "account_id" | "id" | "label">,
  { kind, audited, events, notices = [] }: Pick<Change, "kind" | "audited" | "events" | "notices">,
  work: NewWork,
): Promise<void> {
  const { input = {}, detail = {}, username, at, deadlineSeconds } = work;
  const { account_id: accountId, id } = database;
  const operation = await openOperation(tx, {
    accountId,
    kind,
    entityId: id,
    database: id,
    input,
    at,
    deadlineSeconds,
  });
  await audit(tx, {
    at,
    account: accountId,
    actor: username ?? "worker",
    action: audited,
    target: targetOf(id),
    detail,
  });
  const record = (action: EventAction, status: EventStatus): Promise<number> =>
    emit(tx, {
      accountId,
      username,
      action,
      status,
      entity: entityOf(database),
      operationId: operation.id,
      at,
      requested: username !== null,
    });
  for (const action of notices) await record(action, "notification");
  const started: number[] = [];
  for (const action of events) started.push(await record(action, "started"));
  await linkEvents(tx, operation.id, started);
}

/** One step of an operation: one transaction under the lock of the database's row, and then a hint to the hosts. */
export async function inOperation<Answer>(
  { db, zone, archive }: Omit<Engine, "clock">,
  operationId: number,
  step: (tx: Tx, context: ChangeContext) => Promise<Taken<Answer>>,
): Promise<Answer> {
  const { answer, hosts = [] } = await db
    .transaction()
    .execute(async (tx) => step(tx, { ...(await loadDatabase(tx, operationId, archive)), zone }));
  await wakeHosts(db, { hosts });
  return answer;
}

/** `requested`: hosts have something to do. `not requested`: the operation has ended, or there is nothing to do. */
export const requested = (toWake: { hosts: readonly number[] } | undefined): Taken<"requested" | "not requested"> =>
  toWake === undefined ? { answer: "not requested" } : { answer: "requested", hosts: toWake.hosts };

/** Ends operation, events and audit together, once. Undefined: they had ended before. */
export async function settle(
  tx: Tx,
  operationId: number,
  settlement: Settlement,
  at: Date,
): Promise<OperationRow | undefined> {
  const message = settlement.message === undefined ? {} : { message: settlement.message };
  const operation = await settleOperation(tx, operationId, {
    outcome: settlement.done ? "done" : "failed",
    ...message,
    at,
  });
  if (operation === undefined) return undefined;
  for (const eventId of eventsOf(operation))
    await endEvent(tx, { eventId, status: settlement.done ? "finished" : "failed", ...message, at });
  await audit(tx, {
    at,
    account: operation.account_id,
    actor: "worker",
    action: `${operation.kind}.${settlement.done ? "done" : "failed"}`,
    target: targetOf(operation.entity_id),
    detail: {
      operation: operationId,
      ...(settlement.message !== undefined && { message: settlement.message.text, code: settlement.message.code }),
    },
  });
  return operation;
}

/** Most operations have one event; those with more keep the others in their input. */
const eventsOf = ({ event_id, input }: OperationRow): number[] => [
  ...(event_id === null ? [] : [event_id]),
  ...((input["further_events"] as number[] | undefined) ?? []),
];
