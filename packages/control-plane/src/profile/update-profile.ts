import type { ProfileChange } from "@moorage/contract";
import { recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Mails } from "#mail/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { moveAddress, saveUserColumns, type UserColumns, type UserRow } from "#users/index.ts";
import { lockOwnUser } from "./profile-store.ts";

export type ProfileDeps = { db: Db; clock: Clock; mails: Mails };

export const updateProfile = (
  { db, clock, mails }: ProfileDeps,
  by: Principal,
  change: ProfileChange,
): Promise<UserRow> =>
  db.transaction().execute(async (tx) => {
    const now = clock();
    const before = await lockOwnUser(tx, by);
    const after = await saveUserColumns(tx, before, columnsOf(before, change));
    if (after.email !== before.email) await moveAddress(tx, mails, before);
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
