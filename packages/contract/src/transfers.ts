import { z } from "zod";
import { defineOperation, type Operation } from "./operation.ts";
import { Empty, page, Timestamp } from "./wire.ts";

export const TransferStatus = z.enum(["accepted", "canceled", "completed", "failed", "pending", "stale"]);
export type TransferStatus = z.output<typeof TransferStatus>;

export const EntityTransfer = z.object({
  created: Timestamp,
  entities: z.object({ computes: z.array(z.int()) }),
  expiry: Timestamp,
  is_sender: z.boolean(),
  status: TransferStatus,
  token: z.uuid(),
  updated: Timestamp,
});
export type EntityTransfer = z.output<typeof EntityTransfer>;

const IDS = "1 to 100 ids of compute instances of this account, each once";
const ids = z
  .array(z.int({ error: IDS }).positive(IDS), { error: IDS })
  .min(1, IDS)
  .max(100, IDS)
  .refine((each) => new Set(each).size === each.length, IDS);
const ENTITIES = `an object with computes: ${IDS}`;
/** Clients of this family send `linodes`. */
export const NewEntityTransfer = z.object({
  entities: z
    .object({ computes: ids.optional(), linodes: ids.optional() }, { error: ENTITIES })
    .refine(({ computes, linodes }) => (computes === undefined) !== (linodes === undefined), ENTITIES),
});
export type NewEntityTransfer = z.output<typeof NewEntityTransfer>;

const transfer = z.object({ token: z.uuid() });
const view = { scopes: ["account:read_only"], unrestrictedOnly: true } as const;
const change = { scopes: ["account:read_write"], unrestrictedOnly: true } as const;
const shared = { tag: "Transfers", rate: "single" } as const satisfies Partial<Operation>;
const services = "/v4/account/service-transfers";
const entities = "/v4/account/entity-transfers";

export const listServiceTransfers = defineOperation({
  ...shared,
  id: "listServiceTransfers",
  summary: "List the transfers that the account offered or accepted",
  method: "GET",
  path: services,
  former: { id: "listEntityTransfers", path: entities },
  access: view,
  paged: true,
  filterable: { status: "string", is_sender: "boolean" },
  rate: "collection",
  reply: page(EntityTransfer),
});

export const createServiceTransfer = defineOperation({
  ...shared,
  id: "createServiceTransfer",
  summary: "Offer compute instances to another account; whoever has the token can accept within 24 hours",
  method: "POST",
  path: services,
  former: { id: "createEntityTransfer", path: entities },
  access: change,
  body: NewEntityTransfer,
  emits: ["entity_transfer_create"],
  secretReply: true,
  reply: EntityTransfer,
});

export const viewServiceTransfer = defineOperation({
  ...shared,
  id: "viewServiceTransfer",
  summary: "View a transfer; a pending one by anybody who has its token",
  method: "GET",
  path: `${services}/:token`,
  former: { id: "viewEntityTransfer", path: `${entities}/:token` },
  access: view,
  params: transfer,
  reply: EntityTransfer,
});

export const cancelServiceTransfer = defineOperation({
  ...shared,
  id: "cancelServiceTransfer",
  summary: "Withdraw a pending transfer",
  method: "DELETE",
  path: `${services}/:token`,
  former: { id: "cancelEntityTransfer", path: `${entities}/:token` },
  access: change,
  params: transfer,
  emits: ["entity_transfer_cancel"],
  reply: Empty,
});

export const acceptServiceTransfer = defineOperation({
  ...shared,
  id: "acceptServiceTransfer",
  summary: "Accept a transfer: its compute instances become this account's",
  method: "POST",
  path: `${services}/:token/accept`,
  former: { id: "acceptEntityTransfer", path: `${entities}/:token/accept` },
  access: change,
  params: transfer,
  rate: "accept",
  emits: ["entity_transfer_accept"],
  reply: Empty,
});
