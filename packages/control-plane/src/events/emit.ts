import type { EventAction, EventEntity, EventStatus } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { type RawBuilder, sql } from "kysely";
import { invalidToken, numbering, type Principal } from "#identity/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";

export type NewEvent = {
  accountId: number;
  username: string | null;
  action: EventAction;
  status: EventStatus;
  entity: EventEntity;
  /** A second entity, such as the image that a disk becomes. */
  secondaryEntity?: EventEntity;
  operationId?: number;
  message?: Text;
  at: Date;
  /** Somebody requests it now: refused if the account was closed meanwhile. */
  requested?: boolean;
};

/**
 * Takes a transaction, never a connection: an event must not outlive a change that was rolled back. Locks the account's
 * row, so it must be the last statement of its transaction.
 */
export async function emit(tx: Tx, event: NewEvent): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    with account as (${numbering({ accountId: event.accountId, requested: event.requested ?? false })})
    ${emitting({
      ...event,
      operationId: event.operationId ?? null,
      message: event.message ?? null,
      entityType: event.entity.type,
      entityId: textOf(event.entity.id),
      entityLabel: event.entity.label,
      entityUrl: event.entity.url,
      secondary: event.secondaryEntity,
      finishedAt: event.status === "started" || event.status === "scheduled" ? null : event.at,
    })}`.execute(tx);
  if (rows[0] === undefined) throw invalidToken();
  return rows[0].id;
}

type EventColumns = Omit<NewEvent, "entity" | "secondaryEntity" | "operationId" | "message" | "requested"> & {
  operationId: number | null;
  message: Text | null;
  entityType: string;
  entityId: string | RawBuilder<unknown> | null;
  entityLabel: string | null;
  entityUrl: string;
  secondary?: EventEntity | undefined;
  finishedAt: Date | null;
};

/**
 * The part of a statement that writes an event, at the position that its part `account` has taken in the account's
 * sequence.
 */
export const emitting = (event: EventColumns) => sql`
  insert into events (id, account_id, seq, action, status, entity_type, entity_id, entity_label, entity_url,
    secondary_type, secondary_id, secondary_label, secondary_url, username, message, message_code, operation_id, created_at,
    finished_at)
  select next_event_id(${event.at}::timestamptz), ${event.accountId}::bigint, account.event_seq, ${event.action}::text,
    ${event.status}::text, ${event.entityType}::text, ${event.entityId}::text, ${event.entityLabel}::text,
    ${event.entityUrl}::text, ${event.secondary?.type ?? null}::text, ${textOf(event.secondary?.id)}::text,
    ${event.secondary?.label ?? null}::text, ${event.secondary?.url ?? null}::text, ${event.username}::text,
    ${event.message?.text ?? null}::text, ${event.message?.code ?? null}::text, ${event.operationId}::bigint, ${event.at}::timestamptz, ${event.finishedAt}::timestamptz
  from account returning id`;

const textOf = (id: EventEntity["id"] | undefined): string | null =>
  id === null || id === undefined ? null : String(id);

/** Attaches an existing event to an operation, whose progress it shows from now on. */
export const joinOperation = (tx: Tx, eventId: number, operationId: number): Promise<unknown> =>
  tx.updateTable("events").set({ operation_id: operationId }).where("id", "=", eventId).execute();

/** Ends the event of an operation. The caller has settled the operation, so this happens once. */
export async function endEvent(
  tx: Tx,
  end: { eventId: number; status: "finished" | "failed"; message?: Text; at: Date },
): Promise<void> {
  await tx
    .updateTable("events")
    .set({
      status: end.status,
      message: end.message?.text ?? null,
      message_code: end.message?.code ?? null,
      finished_at: end.at,
    })
    .where("id", "=", end.eventId)
    .execute();
}

type Change = {
  audited: string;
  event: EventAction;
  /** For the audit entry and the event. */
  target: string;
  entity: EventEntity;
  at: Date;
  /** Names of fields, never their values: the audit is kept for ever. */
  detail?: object;
};

export type RecordedChange = Omit<Change, "target" | "entity">;

/** The acting user, who may be signed in to a web page without a token. */
type Recorded = Pick<Principal, "accountId" | "username" | "clientId">;

/**
 * The last statements of a change that completes at once: its audit entry, with the app if one requested it, and its
 * event.
 */
export async function recordChange(tx: Tx, by: Recorded, change: Change): Promise<void> {
  const { audited, event, target, entity, at, detail } = change;
  await audit(tx, {
    at,
    account: by.accountId,
    actor: by.username,
    action: audited,
    target,
    detail: { ...detail, ...(by.clientId !== null && { client: by.clientId }) },
  });
  await emit(tx, {
    accountId: by.accountId,
    username: by.username,
    action: event,
    status: "notification",
    entity,
    at,
    requested: true,
  });
}
