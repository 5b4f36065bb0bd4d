import type { ChargeProvider } from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import type { ChargeRow, Purpose } from "./charge.ts";

/** Actions per purpose of a charge, run in the transaction that settles it. */
export type WhenSettled = Partial<Record<Purpose, (tx: Tx, charge: ChargeRow, at: Date) => Promise<void>>>;

export type ChargeDeps = {
  db: Db;
  clock: Clock;
  log: Log;
  /** Without a provider nothing is charged. */
  provider: ChargeProvider | undefined;
  whenSettled: WhenSettled;
};

/** The steps of a charge at which a process can die. */
export const chargeSteps = [
  "charge.ask",
  "charge.settle",
  "charge.event",
  "charge.autopay",
  "charge.forget",
  "charge.reconcile",
] as const;
export type ChargeStep = (typeof chargeSteps)[number];
