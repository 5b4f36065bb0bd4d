import type { EventAction, EventStatus } from "@moorage/contract";
import { emit } from "#events/index.ts";
import { linkEvents, openOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";
import { entityOf, targetOf } from "../entity.ts";
import type { Change } from "./change.ts";

type NewWork = {
  input?: object;
  detail?: object;
  /** Null: no user requested it, it was due. */
  username: string | null;
  at: Date;
  deadlineSeconds: number;
};

/** Operation, audit entry and started events of work that takes time, in the transaction that accepts it. */
export async function openWork(
  tx: Tx,
  database: Pick<DatabaseRow, "account_id" | "id" | "label">,
  { kind, audited, events, notices = [] }: Pick<Change, "kind" | "audited" | "events" | "notices">,
  work: NewWork,
): Promise<void> {
  const { input = {}, detail = {}, username, at, deadlineSeconds } = work;
  const { account_id: accountId, id } = database;
  const operation = await openOperation(tx, { accountId, kind, entityId: id, input, at, deadlineSeconds });
  await audit(tx, {
    at,
    account: accountId,
    actor: username ?? "worker",
    action: audited,
    target: targetOf(id),
    detail,
  });
  const record = (action: EventAction, status: EventStatus): Promise<number> =>
    emit(tx, {
      accountId,
      username,
      action,
      status,
      entity: entityOf(database),
      operationId: operation.id,
      at,
      requested: username !== null,
    });
  for (const action of notices) await record(action, "notification");
  const started: number[] = [];
  for (const action of events) started.push(await record(action, "started"));
  await linkEvents(tx, operation.id, started);
}
