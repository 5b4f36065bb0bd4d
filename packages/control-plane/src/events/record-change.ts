import type { EventAction, EventEntity } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { emit } from "./emit.ts";

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
export type RecordedChange = Omit<Change, "target" | "entity">;
