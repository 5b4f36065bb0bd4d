import type { PersonalTokenChange } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Owner } from "./owner.ts";
import { recordTokenChange } from "./record-change.ts";
import { findToken, lockToken, saveToken, type TokenRow } from "./token-store.ts";
import type { ProfileDeps } from "./update-profile.ts";

/** A token's scopes cannot be changed. */
export const updateToken = (
  { db, clock }: ProfileDeps,
  by: Principal,
  id: number,
  change: PersonalTokenChange,
): Promise<TokenRow> =>
  db.transaction().execute(async (tx) => {
    const before = await lockToken(tx, by, id);
    const label = change.label ?? before.label;
    await saveToken(tx, by, id, { label });
    const after = await findToken(tx, by, id);
    await recordTokenChange(tx, by, {
      audited: "update_token",
      event: "token_update",
      of: { kind: "tokens", id, label },
      at: clock(),
    });
    return after;
  });

/** Also the calling token: the next request with it is refused. */
export async function deleteToken(
  { db, clock }: Pick<ProfileDeps, "db" | "clock">,
  by: Owner,
  id: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const now = clock();
    const { label } = await lockToken(tx, by, id);
    await saveToken(tx, by, id, { revoked_at: now });
    await recordTokenChange(tx, by, {
      audited: "delete_token",
      event: "token_delete",
      of: { kind: "tokens", id, label },
      at: now,
    });
  });
  await notify(db, "identity");
}
