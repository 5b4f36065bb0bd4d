import { endEvent } from "#events/index.ts";
import { type OperationRow, settleOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import { targetOf } from "../entity.ts";

/** `dnsPublished`: the database's DNS records now point to its hosts. */
export type Settlement = { done: boolean; message?: Text; dnsPublished?: boolean };

/** Ends operation, events and audit together, once. Undefined: they had ended before. */
export async function settle(
  tx: Tx,
  operationId: number,
  settlement: Settlement,
  at: Date,
): Promise<OperationRow | undefined> {
  const message = settlement.message === undefined ? {} : { message: settlement.message };
  const operation = await settleOperation(tx, operationId, {
    outcome: settlement.done ? "done" : "failed",
    ...message,
    at,
  });
  if (operation === undefined) return undefined;
  for (const eventId of eventsOf(operation))
    await endEvent(tx, { eventId, status: settlement.done ? "finished" : "failed", ...message, at });
  await audit(tx, {
    at,
    account: operation.account_id,
    actor: "worker",
    action: `${operation.kind}.${settlement.done ? "done" : "failed"}`,
    target: targetOf(operation.entity_id),
    detail: {
      operation: operationId,
      ...(settlement.message !== undefined && { message: settlement.message.text, code: settlement.message.code }),
    },
  });
  return operation;
}

/** Most operations have one event; those with more keep the others in their input. */
const eventsOf = ({ event_id, input }: OperationRow): number[] => [
  ...(event_id === null ? [] : [event_id]),
  ...((input["further_events"] as number[] | undefined) ?? []),
];
