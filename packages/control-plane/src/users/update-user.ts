import type { User, UserChange } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { notify } from "#platform/db/notifications.ts";
import { invite, type UserDeps } from "./create-user.ts";
import { dropAllGrants } from "./grant-store.ts";
import { moveAddress } from "./move-address.ts";
import { recordUserChange } from "./record-change.ts";
import { nameTaken, requireNotOneself } from "./user.ts";
import { findUserToView, isNameTaken, lockUser, saveUserColumns } from "./user-store.ts";
import { viewOfUser } from "./view.ts";

/**
 * Tokens belong to the user, not to the name, and stay valid. A user who becomes restricted starts without grants, and
 * an unrestricted one needs none.
 */
export async function updateUser(
  { db, clock, mails }: UserDeps,
  by: Principal,
  name: string,
  change: UserChange,
): Promise<User> {
  const view = await db.transaction().execute(async (tx) => {
    const now = clock();
    const before = await lockUser(tx, by, name);
    const { username = before.username, email = before.email, restricted = before.restricted } = change;
    if (restricted && !before.restricted) requireNotOneself(by, before, "restrict");

    const after = await saveUserColumns(tx, before, {
      username,
      email,
      restricted,
      ...(username !== before.username && { name_since: now }),
    }).catch((error: unknown) => {
      throw isNameTaken(error) ? nameTaken() : error;
    });
    if (restricted !== before.restricted) await dropAllGrants(tx, after);
    if (email !== before.email) {
      await moveAddress(tx, mails, before);
      // An invitation to a wrong address is corrected by setting the right one.
      if (after.password_hash === null) await invite(tx, mails, after);
    }
    const changed = viewOfUser(await findUserToView(tx, by.accountId, username));
    await recordUserChange(tx, by, {
      audited: "update_user",
      event: "user_update",
      user: after,
      at: now,
      detail: {
        fields: Object.keys(change),
        ...(username !== before.username && { was: before.username, is: username }),
        ...(restricted !== before.restricted && { restricted }),
      },
    });
    return changed;
  });
  await notify(db, "identity");
  return view;
}
