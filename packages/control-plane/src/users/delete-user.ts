import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import type { Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError } from "#platform/errors.ts";
import type { UserDeps } from "./create-user.ts";
import { recordUserChange } from "./record-change.ts";
import { requireNotOneself } from "./user.ts";
import { deleteUserRow, lockUser } from "./user-store.ts";

/** Everything by which the user could do something goes with the row; what they did stays in events, logins and audit. */
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
 * A user who creates something holds the account's row, or a token's, and asks for their own last. Who deletes them
 * holds that and asks for the others: to wait for each other would end one of the two. So this one does not wait for
 * long; it lets go of everything and begins again.
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
  throw new DomainError("unavailable", { reason: "Too much happens in this account just now. Try again in a moment." });
}
