import type { Principal } from "#identity/index.ts";
import { notify } from "#platform/db/notifications.ts";
import { lockClient, markDeleted } from "./client-store.ts";
import { type ClientDeps, recordClientChange } from "./change-client.ts";
import { deleteThumbnail } from "./thumbnail-store.ts";

/** Ends the client's id, its secret and every token that was issued to it, in all accounts. */
export async function deleteClient({ db, clock }: ClientDeps, by: Principal, id: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const at = clock();
    const client = await lockClient(tx, by.accountId, id);
    await markDeleted(tx, client, at);
    await deleteThumbnail(tx, id);
    await recordClientChange(tx, by, client, { audited: "delete_oauth_client", event: "oauth_client_delete", at });
  });
  await notify(db, "identity");
}
