import { z } from "zod";
import { defineOperation, entityAliases } from "./operation.ts";
import { Empty, Id, openSet, page, Timestamp } from "./wire.ts";

export const EventStatus = z.enum(["failed", "finished", "notification", "scheduled", "started"]);
export type EventStatus = z.output<typeof EventStatus>;

/** The interface's list may grow; it has no action for databases, and clients wait for these. */
export const EventAction = z.enum([
  "account_settings_update",
  "account_update",
  "credit_card_updated",
  "disk_imagize",
  "entity_transfer_accept",
  "entity_transfer_cancel",
  "entity_transfer_create",
  "entity_transfer_fail",
  "entity_transfer_stale",
  "image_delete",
  "image_update",
  "image_upload",
  "oauth_client_create",
  "oauth_client_delete",
  "oauth_client_secret_reset",
  "oauth_client_update",
  "password_reset",
  "payment_method_add",
  "payment_submitted",
  "profile_update",
  "tfa_disabled",
  "tfa_enabled",
  "token_create",
  "token_delete",
  "token_update",
  "user_create",
  "user_delete",
  "user_update",
  "database_create",
  "database_update",
  "database_resize",
  "database_resize_create",
  "database_delete",
  "database_backup_create",
  "database_backup_delete",
  "database_backup_restore",
  "database_backup_verification",
  "database_credentials_reset",
  "database_degraded",
  "database_failed",
  "database_failover",
  "database_group_form",
  "database_low_disk_space",
  "database_node_replace",
  "database_switchover",
]);
export type EventAction = z.output<typeof EventAction>;

export const EventEntity = z.object({
  id: z.union([z.int(), z.string()]).nullable(),
  label: z.string().nullable(),
  type: z.string(),
  url: z.string(),
});
export type EventEntity = z.output<typeof EventEntity>;

/** Ids of all other entities are text and stay text even if they are all digits, as an OAuth client's can be. */
const numberedEntities: readonly string[] = ["compute", "database", "image", "token", "user"];

/** The id of an entity as published, from the text in which it is stored. */
export const entityIdOf = (type: string, id: string | null): EventEntity["id"] =>
  id !== null && numberedEntities.includes(type) ? Number(id) : id;

export const Event = z.object({
  id: z.int(),
  action: openSet(EventAction),
  created: Timestamp,
  duration: z.number(),
  entity: EventEntity,
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
  summary: "List the events of the last 90 days",
  tag: "Events",
  method: "GET",
  path: "/v4/account/events",
  access: { scopes: ["events:read_only"] },
  paged: true,
  filterable: {
    id: "number",
    action: "string",
    created: "date",
    "entity.id": "string",
    "entity.type": "string",
    read: "boolean",
    seen: "boolean",
  },
  filterAliases: entityAliases,
  rate: "collection",
  reply: page(Event),
});

const event = z.object({ eventId: Id });

export const viewEvent = defineOperation({
  id: "viewEvent",
  summary: "View an event",
  tag: "Events",
  method: "GET",
  path: "/v4/account/events/:eventId",
  access: { scopes: ["events:read_only"] },
  params: event,
  rate: "single",
  reply: Event,
});

export const markEventRead = defineOperation({
  id: "markEventRead",
  summary: "Mark an event as read",
  tag: "Events",
  method: "POST",
  path: "/v4/account/events/:eventId/read",
  access: { scopes: ["events:read_only"] },
  params: event,
  rate: "single",
  reply: Empty,
});

export const markEventsSeen = defineOperation({
  id: "markEventsSeen",
  summary: "Mark all events up to this one as seen",
  tag: "Events",
  method: "POST",
  path: "/v4/account/events/:eventId/seen",
  access: { scopes: ["events:read_only"] },
  params: event,
  rate: "single",
  reply: Empty,
});
