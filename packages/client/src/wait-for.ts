import { type Event, type EventAction, listEvents } from "@moorage/contract";
import type { Client } from "./client.ts";
import { delay } from "./delay.ts";

export type WaitedFor = {
  action: EventAction;
  entity: { type: string; id: number | string };
  /** The id of an event that is already known: only newer ones count. */
  after?: number;
  everyMs?: number;
  signal?: AbortSignal;
};

/** What was waited for has failed; its event says why. */
export class EventFailed extends Error {
  override readonly name = "EventFailed";
  readonly event: Event;
  constructor(event: Event) {
    super(event.message ?? `${event.action} failed`);
    this.event = event;
  }
}

export async function waitForEvent(client: Client, waited: WaitedFor): Promise<Event> {
  const { action, entity, after, everyMs = 3_000, signal } = waited;
  for (;;) {
    const { data } = await client.call(listEvents, {
      query: { page_size: 25 },
      filter: {
        action,
        "entity.type": entity.type,
        "entity.id": entity.id,
        ...(after === undefined ? {} : { id: { "+gt": after } }),
        "+order_by": "id",
        "+order": "desc",
      },
      ...(signal === undefined ? {} : { signal }),
    });
    const newest = data[0];
    if (newest?.status === "failed") throw new EventFailed(newest);
    if (newest?.status === "finished" || newest?.status === "notification") return newest;
    await delay(everyMs, signal);
  }
}
