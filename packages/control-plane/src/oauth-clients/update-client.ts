import type { OAuthClient, OAuthClientChange } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { notify } from "#platform/db/notifications.ts";
import { lockClient, saveClient } from "./client-store.ts";
import type { ClientDeps } from "./create-client.ts";
import { recordClientChange } from "./record-change.ts";
import { viewOfClient } from "./view.ts";

/**
 * A client that becomes public, or stops being public, authenticates differently from when its tokens were issued: all
 * of them end. Clients wait for the event, so every accepted PUT emits one.
 */
export async function updateClient(
  { db, clock, publicUrl }: ClientDeps,
  by: Principal,
  id: string,
  change: OAuthClientChange,
): Promise<OAuthClient> {
  const { client, endsAll } = await db.transaction().execute(async (tx) => {
    const before = await lockClient(tx, by.accountId, id);
    const { label = before.label, redirect_uri = before.redirect_uri, public: isPublic = before.public } = change;
    const ends = isPublic !== before.public;
    const after = await saveClient(tx, before, { label, redirect_uri, public: isPublic }, { endsAll: ends });
    await recordClientChange(tx, by, after, {
      audited: "update_oauth_client",
      event: "oauth_client_update",
      detail: { fields: Object.keys(change) },
      at: clock(),
    });
    return { client: after, endsAll: ends };
  });
  if (endsAll) await notify(db, "identity");
  return viewOfClient(client, publicUrl);
}
