import { MOST_PREFERENCE_CHARACTERS } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { audit } from "#platform/audit.ts";
import { DomainError } from "#platform/errors.ts";
import { saveUserColumns } from "#users/index.ts";
import { lockOwnUser } from "./profile-store.ts";
import { texts } from "./texts.ts";
import type { ProfileDeps } from "./update-profile.ts";

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
