import { type Event, type EventEntity, entityIdOf, toTimestamp } from "@moorage/contract";
import type { EventRow } from "./event-store.ts";

export function viewOfEvent(row: EventRow, now: Date): Event {
  const underWay = row.status === "started";
  return {
    id: row.id,
    action: row.action,
    created: toTimestamp(row.created_at),
    duration: ((row.finished_at ?? now).getTime() - row.created_at.getTime()) / 1000,
    entity: entityOf(row.entity_type, row.entity_id, row.entity_label, row.entity_url),
    secondary_entity:
      row.secondary_type === null || row.secondary_url === null
        ? null
        : entityOf(row.secondary_type, row.secondary_id, row.secondary_label, row.secondary_url),
    message: row.message,
    // 100 is for finished events only: an unfinished one would read as done.
    percent_complete: row.status === "finished" ? 100 : underWay ? Math.min(row.percent ?? 0, 99) : row.percent,
    rate: null,
    read: row.read,
    seen: row.seen,
    status: row.status,
    time_remaining: null,
    username: row.username,
  };
}

const entityOf = (type: string, id: string | null, label: string | null, url: string): EventEntity => ({
  id: entityIdOf(type, id),
  label,
  type,
  url,
});
