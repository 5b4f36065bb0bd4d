import { findServerToCompare, saveChargesCompared } from "#fleet/index.ts";
import { type ChargeProvider, type MadeCharge, OutcomeUnknown } from "#payment-provider/index.ts";
import type { Db } from "#platform/db/database.ts";
import { type ChargeRow, keyOf, leaseUntil, microsOfCents, nameOf } from "./charge.ts";
import { countLostAttempts, findAccountsByUuid, findNewestCharge, findWithUuids } from "./charge-store.ts";
import type { ChargeDeps } from "./deps.ts";
import { restoreCharge } from "./restore-charge.ts";

const DAY_MS = 86_400_000;
/** The provider may be silent, and other work waits for this job. */
const RETRY_MS = 30_000;
const BATCH = 1000;

/**
 * PostgreSQL may have been set back to a time before a charge, so that what was paid looks like a debt. On a server that
 * is new to us nothing is charged until this job has credited every charge that the provider made and we do not have.
 * It can be repeated, and stopped at any point.
 */
export const createReconcileCharges = (deps: ChargeDeps) => {
  let notBefore = 0;
  return async (): Promise<void> => {
    const { db, clock, provider } = deps;
    const server = await findServerToCompare(db);
    if (server === undefined) return;
    if (provider !== undefined) {
      // A process may have called the provider just before: its charge is not in the list yet.
      if (Math.max(leaseUntil(server.noticed_at).getTime(), notBefore) > clock().getTime()) return;
      notBefore = clock().getTime() + RETRY_MS;
      await restoreLost(deps, provider, server.cell);
      notBefore = 0;
    }
    await db.transaction().execute(async (tx) => {
      await countLostAttempts(tx);
      await saveChargesCompared(tx, server);
    });
  };
};

async function restoreLost(deps: ChargeDeps, provider: ChargeProvider, cell: number): Promise<void> {
  const { db } = deps;
  const newest = await findNewestCharge(db);
  const made = await provider.listSince(newest === undefined ? undefined : new Date(newest.getTime() - DAY_MS));
  const lost = await lostOf(
    db,
    made.filter(({ chargeId }) => chargeId % CELLS === cell),
  );
  const undecided = lost.filter(({ isProcessing }) => isProcessing);
  const accounts = await findAccountsByUuid(
    db,
    undecided.map(({ accountUuid }) => accountUuid),
  );
  if (accounts.length > 0)
    throw new OutcomeUnknown(`charges in progress: ${undecided.map(({ providerId }) => providerId).join(", ")}`);
  // The oldest first: if this process dies, the newest charge that we have is still older than those that we lack.
  for (const charge of lost.toSorted(byTime)) if (!charge.isProcessing) await restoreCharge(deps, charge);
}

/** The last ten bits of an id. A charge of another cell belongs to another installation. */
const CELLS = 1024;

const byTime = (one: MadeCharge, other: MadeCharge): number => Date.parse(one.opened) - Date.parse(other.opened);

/** Those that we do not have, or in another state. */
async function lostOf(db: Db, made: readonly MadeCharge[]): Promise<MadeCharge[]> {
  const ours = new Map<string, ChargeRow>();
  for (let at = 0; at < made.length; at += BATCH) {
    const ids = made.slice(at, at + BATCH).map(({ chargeId }) => chargeId);
    for (const row of await findWithUuids(db, ids)) ours.set(keyOf(nameOf(row, row.euuid)), row);
  }
  return made.filter((each) => !isKnown(ours.get(keyOf(each)), each));
}

/** The outcome of a pending charge is requested by its key as soon as charges are current. */
function isKnown(ours: ChargeRow | undefined, made: MadeCharge): boolean {
  if (ours === undefined || ours.status === "declined") return false;
  if (ours.status === "pending" && made.refundedCents === 0) return true;
  return microsOfCents(made.refundedCents) <= ours.refunded_micros;
}
