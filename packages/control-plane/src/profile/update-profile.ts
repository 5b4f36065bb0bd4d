import { MOST_PREFERENCE_CHARACTERS, type ProfileChange } from "@moorage/contract";
import { recordChange } from "#events/index.ts";
import { invalidToken, type Principal, requireConfirmed, saveUserColumns, type UserColumns } from "#identity/index.ts";
import type { Mails } from "#mail/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { moveAddress, type UserRow } from "#users/index.ts";
import { texts } from "./texts.ts";

export type ProfileDeps = { db: Db; clock: Clock; mails: Mails };

export const updateProfile = (
  { db, clock, mails }: ProfileDeps,
  by: Principal,
  change: ProfileChange,
): Promise<UserRow> =>
  db.transaction().execute(async (tx) => {
    const now = clock();
    const before = await lockOwnUser(tx, by);
    const { email = before.email } = change;
    if (email !== before.email) requireConfirmed(by, now);
    const address = email === before.email ? email : await moveAddress(tx, mails, before, email);
    const after = await saveUserColumns(tx, before, columnsOf(before, { ...change, email: address }));
    await recordChange(tx, by, {
      audited: "update_profile",
      event: "profile_update",
      target: `user/${by.userId}`,
      entity: { id: null, label: after.username, type: "profile", url: "/v4/profile" },
      at: now,
      detail: { fields: Object.keys(change) },
    });
    return after;
  });

const columnsOf = (before: UserRow, change: ProfileChange): UserColumns => ({
  email: change.email ?? before.email,
  timezone: change.timezone ?? before.timezone,
  email_notifications: change.email_notifications ?? before.email_notifications,
  lish_auth_method: change.lish_auth_method ?? before.lish_auth_method,
  // Clients of this API family send null to empty the list.
  authorized_keys: change.authorized_keys === undefined ? before.authorized_keys : (change.authorized_keys ?? []),
});

type Preferences = Record<string, unknown>;

/** Replaces all of them. Emits no event: a user interface writes them as it is used. */
export async function updatePreferences(
  { db, clock }: ProfileDeps,
  by: Principal,
  preferences: Preferences,
): Promise<Preferences> {
  const text = JSON.stringify(preferences);
  if (text.length > MOST_PREFERENCE_CHARACTERS)
    throw new DomainError("invalid", {
      reason: texts.preferencesTooLong({ most: MOST_PREFERENCE_CHARACTERS, length: text.length }),
    });
  return db.transaction().execute(async (tx) => {
    const user = await lockOwnUser(tx, by);
    const after = await saveUserColumns(tx, user, { preferences: text });
    await audit(tx, {
      at: clock(),
      account: by.accountId,
      actor: by.username,
      action: "update_preferences",
      target: `user/${by.userId}`,
    });
    return after.preferences as Preferences;
  });
}

export const findOwnUser = (db: Db, by: Principal): Promise<UserRow> =>
  ownRow(db, by).executeTakeFirstOrThrow(() => invalidToken());

const lockOwnUser = (tx: Tx, by: Principal): Promise<UserRow> =>
  ownRow(tx, by)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(() => invalidToken());

/** Without a row the user was deleted during the request: the token is invalid. */
const ownRow = (db: Db | Tx, by: Principal) =>
  db.selectFrom("users").selectAll().where("account_id", "=", by.accountId).where("id", "=", by.userId);
