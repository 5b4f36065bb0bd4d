import type { ChargeProvider } from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import type { ChargeRow, Purpose } from "./charge.ts";

/** What a charge was made for, done in the transaction that settles it. */
export type WhenSettled = Partial<Record<Purpose, (tx: Tx, charge: ChargeRow, at: Date) => Promise<void>>>;

export type ChargeDeps = {
  db: Db;
  clock: Clock;
  log: Log;
  /** Without one nothing is charged. */
  provider: ChargeProvider | undefined;
  whenSettled: WhenSettled;
};

/** The steps at which a process can die on the way of a charge. */
export const chargeSteps = ["charge.ask", "charge.settle", "charge.event", "charge.autopay", "charge.forget"] as const;
export type ChargeStep = (typeof chargeSteps)[number];
