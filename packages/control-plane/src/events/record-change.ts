import type { EventAction, EventEntity } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { emit } from "./emit.ts";

type Change = {
  audited: string;
  event: EventAction;
  /** In the audit, and in the event. */
  target: string;
  entity: EventEntity;
  at: Date;
  /** Names of fields, never what was in them: the audit is kept for ever. */
  detail?: object;
};

/** Who is named: also somebody on a page of ours, who has no token. */
type Recorded = Pick<Principal, "accountId" | "username" | "clientId">;

/** The last statements of a change that is done at once: its audit line, with the app if one asked for it, and its event. */
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
