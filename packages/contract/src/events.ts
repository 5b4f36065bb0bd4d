import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Id, page, Timestamp } from "./wire.ts";

export const EventStatus = z.enum(["failed", "finished", "notification", "scheduled", "started"]);
export type EventStatus = z.output<typeof EventStatus>;

/** The interface's list may grow; none of its actions is a database's, and clients wait for these. */
export const EventAction = z.enum(["database_create", "database_delete"]);
export type EventAction = z.output<typeof EventAction>;

export const EventEntity = z.object({
  id: z.union([z.int(), z.string()]).nullable(),
  label: z.string().nullable(),
  type: z.string(),
  url: z.string().nullable(),
});
export type EventEntity = z.output<typeof EventEntity>;

export const Event = z.object({
  id: z.int(),
  action: EventAction,
  created: Timestamp,
  duration: z.number(),
  entity: EventEntity.nullable(),
  secondary_entity: EventEntity.nullable(),
  message: z.string().nullable(),
  percent_complete: z.int().nullable(),
  rate: z.string().nullable(),
  read: z.boolean(),
  seen: z.boolean(),
  status: EventStatus,
  time_remaining: z.string().nullable(),
  username: z.string().nullable(),
});
export type Event = z.output<typeof Event>;

export const listEvents = defineOperation({
  id: "listEvents",
  method: "GET",
  path: "/v4/account/events",
  access: { scopes: ["events:read_only"] },
  paged: true,
  reply: page(Event),
});

export const viewEvent = defineOperation({
  id: "viewEvent",
  method: "GET",
  path: "/v4/account/events/:eventId",
  access: { scopes: ["events:read_only"] },
  params: z.object({ eventId: Id }),
  reply: Event,
});
