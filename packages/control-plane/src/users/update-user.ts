import type { User, UserChange } from "@moorage/contract";
import { dropAddressLinks, dropPasswordLinks, type Principal, saveUserColumns } from "#identity/index.ts";
import type { Mails } from "#mail/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { invite, type UserDeps } from "./create-user.ts";
import { dropAllGrants } from "./grant-store.ts";
import { findUserToView, isNameTaken, lockUser, type UserRow } from "./user-store.ts";
import { nameTaken, recordUserChange, requireNotOneself, viewOfUser } from "./user.ts";

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

    const address = email === before.email ? email : await moveAddress(tx, mails, before, email);
    const after = await saveUserColumns(tx, before, {
      username,
      email: address,
      restricted,
      ...(username !== before.username && { name_since: now }),
    }).catch((error: unknown) => {
      throw isNameTaken(error) ? nameTaken() : error;
    });
    if (restricted !== before.restricted) await dropAllGrants(tx, after);
    // An invitation to a wrong address is corrected by setting the right one.
    if (email !== before.email && after.password_hash === null) await invite(tx, mails, after);
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

/**
 * The address that is in force from now on. Links that give access are mailed to the user, so a new address counts once
 * the user has confirmed it, signed in; the present one is notified. Whoever has not accepted the invitation cannot sign
 * in, may be a stranger, and gets no further mail: the address is replaced at once.
 */
export async function moveAddress(tx: Tx, mails: Mails, before: UserRow, email: string): Promise<string> {
  const person = { accountId: before.account_id, userId: before.id };
  await dropAddressLinks(tx, person);
  if (before.password_hash === null) {
    await dropPasswordLinks(tx, person);
    return email;
  }
  await mails.confirmAddress(tx, { person, email });
  await mails.notice(tx, { email: before.email, username: before.username, what: "address_requested" });
  return before.email;
}
