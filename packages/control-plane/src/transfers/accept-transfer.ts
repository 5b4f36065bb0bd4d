import { emit, recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { lockComputes } from "#inventory/index.ts";
import { linkEvents, openOperation } from "#operations/index.ts";
import { audit } from "#platform/db/audit.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { TransferDeps } from "./create-transfer.ts";
import { texts } from "./texts.ts";
import { findTransfer, lockAccounts, lockTransfer, saveTransfer } from "./transfer-store.ts";
import {
  entityOf,
  maySee,
  openToken,
  partiesOf,
  requireAcceptable,
  requireCancelable,
  targetOf,
  type TransferRow,
  whyNot,
} from "./transfer.ts";

export type AcceptDeps = TransferDeps & { nudgeRelay: () => void };

/** The limit of the public interface. The move is one transaction, so only a control plane that is down exceeds it. */
const DEADLINE_SECONDS = 3 * 3600;

export const acceptSteps = ["api.acceptServiceTransfer"] as const;

/** From now on nobody else can accept it; the owner changes when the operation completes. */
export async function acceptTransfer(
  deps: AcceptDeps,
  by: Principal,
  token: string,
  idempotency: Idempotency,
): Promise<void> {
  const { db, clock, sealer } = deps;
  await transact(db, acceptSteps[0], async (tx) => {
    await idempotency.claim(tx);
    const found = await findTransfer(tx, token);
    if (found === undefined) throw notFound();
    const computes = await lockComputes(tx, found.computes);
    const transfer = await lockTransfer(tx, found.id);
    const now = clock();
    if (!maySee(transfer, by.accountId, now)) throw notFound();
    requireAcceptable(transfer, by.accountId, now);
    const reason = whyNot(transfer, computes);
    if (reason !== undefined) throw new DomainError("wrong-state", { reason });

    const accepted = await saveTransfer(tx, transfer, {
      status: "accepted",
      receiver_account_id: by.accountId,
      receiver: by.username,
      updated_at: now,
    });
    await requireOpenAccounts(tx, accepted);
    const operation = await openOperation(tx, {
      accountId: by.accountId,
      kind: "moveEntities",
      entityId: transfer.id,
      at: now,
      deadlineSeconds: DEADLINE_SECONDS,
    });
    await audit(tx, {
      at: now,
      account: by.accountId,
      actor: by.username,
      action: "accept_transfer",
      target: targetOf(transfer),
      detail: by.clientId === null ? {} : { client: by.clientId },
    });
    await idempotency.keep(tx, {});
    const events: number[] = [];
    for (const accountId of partiesOf(accepted))
      events.push(
        await emit(tx, {
          accountId,
          action: "entity_transfer_accept",
          status: "started",
          operationId: operation.id,
          at: now,
          // The users of the other account are not disclosed.
          username: accountId === by.accountId ? by.username : null,
          entity: entityOf(openToken(sealer, transfer)),
        }),
      );
    await linkEvents(tx, operation.id, events);
  });
  deps.nudgeRelay();
}

async function requireOpenAccounts(tx: Tx, transfer: TransferRow): Promise<void> {
  if ((await lockAccounts(tx, partiesOf(transfer))).some(({ closed_at }) => closed_at !== null))
    throw new DomainError("wrong-state", { reason: texts.accountClosed() });
}

/** Only for the account that offered it: for others the transfer does not exist. */
export const cancelTransfer = ({ db, clock, sealer }: TransferDeps, by: Principal, token: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const found = await findTransfer(tx, token);
    if (found === undefined || found.account_id !== by.accountId) throw notFound();
    const transfer = await lockTransfer(tx, found.id);
    const now = clock();
    requireCancelable(transfer, now);
    await saveTransfer(tx, transfer, { status: "canceled", updated_at: now });
    await recordChange(tx, by, {
      audited: "cancel_transfer",
      event: "entity_transfer_cancel",
      at: now,
      target: targetOf(transfer),
      entity: entityOf(openToken(sealer, transfer)),
    });
  });
