import { z } from "zod";
import { EventEntity } from "./events.ts";
import { defineOperation, entityAliases } from "./operation.ts";
import { page, Timestamp } from "./wire.ts";

/** A present or imminent problem, shown for as long as it lasts: it cannot be dismissed, only its cause removed. */
export const Notification = z.object({
  type: z.string(),
  severity: z.enum(["minor", "major", "critical"]),
  label: z.string(),
  message: z.string(),
  body: z.string().nullable(),
  entity: EventEntity.nullable(),
  when: Timestamp.nullable(),
  until: Timestamp.nullable(),
});
export type Notification = z.output<typeof Notification>;

export const listNotifications = defineOperation({
  id: "listNotifications",
  summary: "List what needs the account's attention",
  tag: "Account",
  method: "GET",
  path: "/v4/account/notifications",
  access: { scopes: ["account:read_only"], grant: "account_read" },
  paged: true,
  filterable: { type: "string", "entity.type": "string" },
  filterAliases: entityAliases,
  rate: "collection",
  reply: page(Notification),
});
