import type { OAuthClient } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { lockClient, saveClient } from "./client-store.ts";
import type { ClientDeps } from "./create-client.ts";
import { newSecret } from "./oauth-client.ts";
import { recordClientChange } from "./record-change.ts";
import { viewOfClient } from "./view.ts";

/** The old secret ends with this transaction. Users' grants and the client's tokens stay valid. */
export const resetSecret = (
  { db, clock, publicUrl }: ClientDeps,
  by: Principal,
  id: string,
  idempotency: Idempotency,
): Promise<OAuthClient> =>
  db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    const { secret, secret_sha256 } = newSecret();
    const client = await saveClient(tx, await lockClient(tx, by.accountId, id), { secret_sha256 });
    await recordClientChange(tx, by, client, {
      audited: "reset_oauth_client_secret",
      event: "oauth_client_secret_reset",
      at: clock(),
    });
    const view = viewOfClient(client, publicUrl, secret);
    await idempotency.keep(tx, view);
    return view;
  });
