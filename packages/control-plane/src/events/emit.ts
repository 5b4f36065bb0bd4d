import type { EventAction, EventEntity, EventStatus } from "@moorage/contract";
import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";

export type NewEvent = {
  accountId: number;
  username: string | null;
  action: EventAction;
  status: EventStatus;
  entity: EventEntity;
  operationId?: number;
  message?: string;
  at: Date;
};

/**
 * Takes a transaction, never a connection: an event must not outlive a change that was rolled back. It locks the
 * account's row, so it is the last statement of its transaction.
 */
export async function emit(tx: Tx, event: NewEvent): Promise<number> {
  const { id } = await tx
    .with("place", (query) =>
      query
        .updateTable("accounts")
        .set({ event_seq: sql`event_seq + 1` })
        .where("id", "=", event.accountId)
        .returning("event_seq"),
    )
    .insertInto("events")
    .values((query) => ({
      id: sql<number>`next_event_id(${event.at})`,
      account_id: event.accountId,
      seq: query.selectFrom("place").select("event_seq"),
      action: event.action,
      status: event.status,
      entity_type: event.entity.type,
      entity_id: event.entity.id === null ? null : String(event.entity.id),
      entity_label: event.entity.label,
      entity_url: event.entity.url,
      username: event.username,
      message: event.message ?? null,
      operation_id: event.operationId ?? null,
      created_at: event.at,
      finished_at: event.status === "started" || event.status === "scheduled" ? null : event.at,
    }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Ends the event of an operation. The caller holds the operation, so it happens once. */
export async function endEvent(
  tx: Tx,
  end: { eventId: number; status: "finished" | "failed"; message?: string; at: Date },
): Promise<void> {
  await tx
    .updateTable("events")
    .set({ status: end.status, message: end.message ?? null, finished_at: end.at })
    .where("id", "=", end.eventId)
    .execute();
}
