import { randomUUID } from "node:crypto";
import { type EntityTransfer, type NewEntityTransfer, toTimestamp } from "@moorage/contract";
import { emit, recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { lockComputes } from "#inventory/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Sealer } from "#platform/seal.ts";
import { texts } from "./texts.ts";
import { hashOf, insertTransfer, lockTransfer, overdueTransfers, saveTransfer, transfersOf } from "./transfer-store.ts";
import {
  entityOf,
  expiryOf,
  LIFE_HOURS,
  openToken,
  pendingEntity,
  sealToken,
  statusAt,
  targetOf,
  type TransferRow,
  viewOfTransfer,
} from "./transfer.ts";

export type TransferDeps = { db: Db; clock: Clock; sealer: Sealer };

export const staleSteps = ["worker.endStaleTransfer"] as const;

const BATCH = 100;

export const createTransfer = (
  { db, clock, sealer }: TransferDeps,
  by: Principal,
  { entities }: NewEntityTransfer,
  idempotency: Idempotency,
): Promise<EntityTransfer> =>
  db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    const computes = entities.computes ?? entities.linodes ?? [];
    const field = entities.computes === undefined ? "entities.linodes" : "entities.computes";
    const own = new Set(
      (await lockComputes(tx, computes))
        .filter((each) => each.account_id === by.accountId && each.deleted_at === null)
        .map(({ id }) => id),
    );
    const now = clock();
    const offered = await offeredOf(tx, sealer, by.accountId, computes, now);
    const faults = computes.flatMap((id, index) => faultsOf(`${field}[${index}]`, id, { own, offered }));
    if (faults.length > 0) throw new DomainError("invalid", ...faults);

    const token = randomUUID();
    const place = { account_id: by.accountId, token_sha256: hashOf(token) };
    const expires = expiryOf(now);
    const transfer = await insertTransfer(tx, {
      ...place,
      token: sealToken(sealer, place, token),
      computes: computes.toSorted((a, b) => a - b),
      created_at: now,
      updated_at: now,
      expires_at: expires,
    });
    const view = viewOfTransfer(transfer, { sealer, reader: by.accountId, now });
    await idempotency.keep(tx, view);
    await recordChange(tx, by, {
      audited: "create_transfer",
      event: "entity_transfer_create",
      at: now,
      target: targetOf(transfer),
      entity: pendingEntity,
      detail: { computes },
    });
    return view;
  });

type OpenTransfer = { status: string; since: string };

/** Instances in a transfer that can still be accepted or is being carried out. Marks expired transfers as stale. */
async function offeredOf(
  tx: Tx,
  sealer: Sealer,
  accountId: number,
  computes: readonly number[],
  now: Date,
): Promise<Map<number, OpenTransfer>> {
  const offered = new Map<number, OpenTransfer>();
  for (const transfer of await transfersOf(tx, accountId, computes)) {
    const status = statusAt(transfer, now);
    if (status === "stale") await endStale(tx, sealer, transfer, now);
    else for (const id of transfer.computes) offered.set(id, { status, since: toTimestamp(transfer.updated_at) });
  }
  return offered;
}

type Known = { own: ReadonlySet<number>; offered: ReadonlyMap<number, OpenTransfer> };

/** Another account's instance is refused like one that does not exist. */
function faultsOf(field: string, id: number, { own, offered }: Known): ErrorDetail[] {
  if (!own.has(id)) return [{ field, reason: invalidReason(field, texts.computeUnknown({ id })) }];
  const other = offered.get(id);
  if (other === undefined) return [];
  return [{ field, reason: invalidReason(field, texts.computeInOtherTransfer({ id, ...other })) }];
}

/** Stores the status that readers see already, and notifies the account that offered the transfer. */
export const createStaleTransfersJob = ({ db, clock, sealer, eachDue }: TransferDeps & { eachDue: EachDue }) => {
  const each = eachDue("staleTransfers", "transfer");
  return async (): Promise<void> =>
    each.run(await overdueTransfers(db, clock(), BATCH + each.skipped()), ({ id }) =>
      transact(db, staleSteps[0], async (tx) => {
        const transfer = await lockTransfer(tx, id);
        const now = clock();
        // Another worker, or the next offer of the same instances, was first.
        if (transfer.status !== "pending" || statusAt(transfer, now) !== "stale") return;
        await endStale(tx, sealer, transfer, now);
      }),
    );
};

/** The transfer is locked and has expired. */
async function endStale(tx: Tx, sealer: Sealer, transfer: TransferRow, now: Date): Promise<void> {
  await saveTransfer(tx, transfer, { status: "stale", updated_at: transfer.expires_at });
  const { account_id: accountId } = transfer;
  await audit(tx, {
    at: now,
    account: accountId,
    actor: "worker",
    action: "end_stale_transfer",
    target: targetOf(transfer),
  });
  await emit(tx, {
    accountId,
    username: null,
    action: "entity_transfer_stale",
    status: "notification",
    entity: entityOf(openToken(sealer, transfer)),
    message: texts.notAccepted({ hours: LIFE_HOURS }),
    at: now,
  });
}
