import type { Principal } from "#identity/index.ts";
import { notify } from "#platform/db/notifications.ts";
import { lockApp, saveRevoked } from "./app-store.ts";
import { recordTokenChange } from "./record-change.ts";
import type { ProfileDeps } from "./update-profile.ts";

/** Invalidates every access and refresh token of this consent at once. */
export async function revokeApp({ db, clock }: ProfileDeps, by: Principal, id: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const now = clock();
    const { label, client_id } = await lockApp(tx, by, id, now);
    await saveRevoked(tx, by, id, now);
    await recordTokenChange(tx, by, {
      audited: "revoke_app",
      event: "token_delete",
      of: { kind: "apps", id, label },
      at: now,
      detail: { app: client_id },
    });
  });
  await notify(db, "identity");
}
