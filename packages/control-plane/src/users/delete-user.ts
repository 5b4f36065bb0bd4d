import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { deleteUserRow, type Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError } from "#platform/errors.ts";
import type { UserDeps } from "./create-user.ts";
import { texts } from "./texts.ts";
import { lockUser } from "./user-store.ts";
import { recordUserChange, requireNotOneself } from "./user.ts";

/** All of the user's access ends with the row; their actions stay in events, logins and the audit log. */
export async function deleteUser({ db, clock }: UserDeps, by: Principal, username: string): Promise<void> {
  await untilFree(() =>
    db.transaction().execute(async (tx) => {
      await waitBriefly(tx);
      const user = await lockUser(tx, by, username);
      requireNotOneself(by, user, "delete");
      await deleteUserRow(tx, user);
      await recordUserChange(tx, by, {
        audited: "delete_user",
        event: "user_delete",
        user,
        at: clock(),
        detail: { username: user.username },
      });
    }),
  );
  await notify(db, "identity");
}

const PATIENCE_MS = 100;
const MOST_TRIES = 50;
const LOCK_NOT_AVAILABLE = "55P03";

const waitBriefly = (tx: Tx): Promise<unknown> => sql.raw(`set local lock_timeout = ${PATIENCE_MS}`).execute(tx);

/**
 * A creating user locks the account's or a token's row first and their own row last. A deletion locks in the opposite
 * order, so the two would deadlock. Therefore the deletion waits only briefly, releases everything and starts again.
 */
async function untilFree(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE)) throw error;
    }
    await pause(Math.random() * PATIENCE_MS);
  }
  throw new DomainError("unavailable", { reason: texts.accountBusy() });
}
