import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { deleteMailsBefore } from "./mail-store.ts";

const KEPT_DAYS = 30;
const BATCH = 1000;

/** Deletes mails that could not be sent. Until then an operator can see how many there are, and why. */
export const createMailSweep =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<void> => {
    await deleteMailsBefore(db, new Date(clock().getTime() - KEPT_DAYS * 86_400_000), BATCH);
  };
