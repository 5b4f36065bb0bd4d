import { type Event, type EventAction, listEvents, viewEvent } from "@moorage/contract";
import type { Client } from "./client.ts";
import { delay } from "./send.ts";

export type Waiting = {
  everyMs?: number;
  signal?: AbortSignal;
  /** Called after each poll that finds the event still running. */
  onProgress?: (event: Event) => void;
};

export type WaitedFor = {
  action: EventAction;
  /** The object that the event is about, as primary or secondary entity. */
  entity?: { type?: string; id: number | string };
  /** Only events with a higher id count. */
  after?: number;
};

/** The awaited operation failed; its event has the reason. */
export class EventFailed extends Error {
  override readonly name = "EventFailed";
  readonly event: Event;
  constructor(event: Event) {
    super(event.message || `${event.action} failed`);
    this.event = event;
  }
}

/** Waits for one event by id, or for the newest of a kind. */
export async function waitForEvent(client: Client, waited: { id: number } | WaitedFor, how: Waiting): Promise<Event> {
  const { everyMs = 3_000, signal, onProgress } = how;
  const sending = signal === undefined ? {} : { signal };
  for (;;) {
    const event =
      "id" in waited
        ? await client.call(viewEvent, { params: { eventId: waited.id }, ...sending })
        : await newestOf(client, waited, sending);
    if (event?.status === "failed") throw new EventFailed(event);
    if (event?.status === "finished" || event?.status === "notification") return event;
    if (event !== undefined) onProgress?.(event);
    await delay(everyMs, signal);
  }
}

/** The id of the account's newest event; 0 before the first. */
export async function newestEventId(client: Client, sending: { signal?: AbortSignal }): Promise<number> {
  const filter = { "+order_by": "id", "+order": "desc" } as const;
  const { data } = await client.call(listEvents, { query: { page_size: 25 }, filter, ...sending });
  return data[0]?.id ?? 0;
}

async function newestOf(
  client: Client,
  { action, entity, after }: WaitedFor,
  sending: { signal?: AbortSignal },
): Promise<Event | undefined> {
  const { data } = await client.call(listEvents, {
    query: { page_size: 100 },
    filter: {
      action,
      ...(entity?.type === undefined ? {} : { "entity.type": entity.type, "entity.id": entity.id }),
      ...(after === undefined ? {} : { id: { "+gt": after } }),
      "+order_by": "id",
      "+order": "desc",
    },
    ...sending,
  });
  return data.find((event) => entity === undefined || concerns(event, entity.id));
}

/** A capture is an event of the compute instance; the resulting image is the secondary entity. */
const concerns = ({ entity, secondary_entity }: Event, id: number | string): boolean =>
  [entity, secondary_entity].some((one) => one !== null && String(one.id) === String(id));
