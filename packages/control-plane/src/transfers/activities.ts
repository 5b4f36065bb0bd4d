import type { Text } from "@moorage/contract/texts";
import { emit, endEvent } from "#events/index.ts";
import { type ComputeRow, lockComputes, moveComputes, type Renamed } from "#inventory/index.ts";
import { findOperation, type OperationRow, settleOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Sealer } from "#platform/seal.ts";
import { texts } from "./texts.ts";
import { findTransferById, lockAccounts, lockTransfer, saveTransfer } from "./transfer-store.ts";
import { entityOf, openToken, partiesOf, targetOf, type TransferRow, whyNot } from "./transfer.ts";

type TransferActivityDeps = { db: Db; clock: Clock; sealer: Sealer };

/** Why the instances cannot be moved; undefined when they can. */
type Judge = (transfer: TransferRow, computes: readonly ComputeRow[]) => Text | undefined;

type Ended = { transfer: TransferRow; failure: Text | undefined; renamed: readonly Renamed[]; at: Date };

/** Repeatable: an activity may run again after it has completed. */
export const createTransferActivities = (deps: TransferActivityDeps) => ({
  /** Moves all instances, or none. */
  async moveOwnership(operationId: number): Promise<void> {
    await end(deps, operationId, whyNot).catch((error: unknown) => {
      if (!(error instanceof AccountClosed)) throw error;
      return end(deps, operationId, () => error.reason);
    });
    // Moving ended grants.
    await notify(deps.db, "identity");
  },
});
export type TransferActivities = ReturnType<typeof createTransferActivities>;

/** Ends an operation whose workflow could not, when its deadline has passed. */
export const createTransferExpiry = (deps: TransferActivityDeps) => ({
  moveEntities: (operationId: number): Promise<void> => end(deps, operationId, () => texts.deadlineExceeded()),
});

const end = (deps: TransferActivityDeps, operationId: number, judge: Judge): Promise<void> =>
  deps.db.transaction().execute((tx) => endTransfer(deps, tx, operationId, judge));

/** Changes owner, grants, the transfer's status, its operation and both accounts' events: together, and once. */
async function endTransfer(
  { clock, sealer }: { clock: Clock; sealer: Sealer },
  tx: Tx,
  operationId: number,
  judge: Judge,
): Promise<void> {
  const { entity_id } = await findOperation(tx, operationId);
  const computes = await lockComputes(tx, (await findTransferById(tx, entity_id)).computes);
  const transfer = await lockTransfer(tx, entity_id);
  if (transfer.status !== "accepted") return;

  const at = clock();
  const failure = judge(transfer, computes);
  const renamed = failure === undefined ? await moveAll(tx, transfer, computes, at) : [];
  const ended = { transfer, failure, renamed, at };
  await saveTransfer(tx, transfer, {
    status: failure === undefined ? "completed" : "failed",
    message: failure?.text ?? null,
    updated_at: at,
  });
  const operation = await settleOperation(tx, operationId, {
    outcome: failure === undefined ? "done" : "failed",
    at,
    ...(failure !== undefined && { message: failure }),
  });
  if (operation === undefined) throw new Error(`Operation ${operationId} had ended, and its transfer had not.`);
  await writeDown(tx, operation, ended);
  await notifyBoth(tx, operation, sealer, ended);
}

async function moveAll(tx: Tx, transfer: TransferRow, computes: readonly ComputeRow[], at: Date): Promise<Renamed[]> {
  const { account_id: from, receiver_account_id } = transfer;
  const renamed = await moveComputes(tx, computes, { from, to: receiver_account_id as number, at });
  const closed = (await lockAccounts(tx, partiesOf(transfer))).find(({ closed_at }) => closed_at !== null);
  if (closed !== undefined)
    throw new AccountClosed(texts.accountClosedMeanwhile({ party: closed.id === from ? "offered" : "accepted" }));
  return renamed;
}

/** Detected only after everything was moved, because accounts are locked last: the transaction is rolled back. */
class AccountClosed extends Error {
  override readonly name = "AccountClosed";
  readonly reason: Text;
  constructor(reason: Text) {
    super(reason.text);
    this.reason = reason;
  }
}

const writeDown = (tx: Tx, { id, kind, outcome }: OperationRow, { transfer, failure, renamed, at }: Ended) =>
  audit(tx, {
    at,
    account: transfer.receiver_account_id,
    actor: "worker",
    action: `${kind}.${outcome}`,
    target: targetOf(transfer),
    detail: {
      operation: id,
      from: transfer.account_id,
      computes: transfer.computes,
      renamed,
      ...(failure !== undefined && { message: failure.text, code: failure.code }),
    },
  });

/** Both accounts have an event of the acceptance, in the order of `partiesOf`; this ends both. */
async function notifyBoth(
  tx: Tx,
  { event_id, input }: OperationRow,
  sealer: Sealer,
  { transfer, failure, renamed, at }: Ended,
): Promise<void> {
  const events = [event_id as number, ...((input["further_events"] as number[] | undefined) ?? [])];
  const parties = partiesOf(transfer);
  for (const [index, eventId] of events.entries()) {
    const message = failure ?? (parties[index] === transfer.account_id ? undefined : inWords(renamed));
    const status = failure === undefined ? "finished" : "failed";
    await endEvent(tx, { eventId, status, at, ...(message !== undefined && { message }) });
  }
  if (failure === undefined) return;
  for (const accountId of parties)
    await emit(tx, {
      accountId,
      username: null,
      action: "entity_transfer_fail",
      status: "notification",
      message: failure,
      at,
      entity: entityOf(openToken(sealer, transfer)),
    });
}

const inWords = (renamed: readonly Renamed[]): Text | undefined =>
  renamed.length === 0 ? undefined : texts.labelsChanged({ renamed });
