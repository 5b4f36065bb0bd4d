import type { Tx } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import type { Person } from "./interactions.ts";

/** Apps keep their access; it is revoked under /profile/apps. */
const ofApps = ["AuthorizationCode", "RefreshToken"];

/** Also those of apps: every session, code and refresh token of the account's users ends. */
export const dropAllRecords = (tx: Tx, accountId: number): Promise<unknown> =>
  tx.deleteFrom("auth_records").where("account_id", "=", accountId).execute();

/** Ends every session of this person except the named one, and sign-ins in progress in them. */
export async function endSessions(tx: Tx, { accountId, userId }: Person, exceptUid?: string): Promise<void> {
  await tx
    .deleteFrom("auth_records")
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .where("model", "not in", ofApps)
    .$if(exceptUid !== undefined, (query) =>
      query.where(({ or, eb }) =>
        or([eb("uid_sha256", "is", null), eb("uid_sha256", "<>", sha256(exceptUid as string))]),
      ),
    )
    .execute();
}
