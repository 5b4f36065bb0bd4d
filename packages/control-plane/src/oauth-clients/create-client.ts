import type { NewOAuthClient, OAuthClient } from "@moorage/contract";
import { type Principal, requireFewerThan } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { countClients, insertClient } from "./client-store.ts";
import { newClientId, newSecret } from "./oauth-client.ts";
import { recordClientChange } from "./record-change.ts";
import { viewOfClient } from "./view.ts";

export type ClientDeps = {
  db: Db;
  clock: Clock;
  /** The public address of the API, without a trailing slash. */
  publicUrl: string | undefined;
};

const MOST_CLIENTS = 200;

/** The secret is only in this answer and in that to a repeated request; only its hash is stored. */
export const createClient = (
  { db, clock, publicUrl }: ClientDeps,
  by: Principal,
  { label, redirect_uri, public: isPublic }: NewOAuthClient,
  idempotency: Idempotency,
): Promise<OAuthClient> =>
  db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    requireFewerThan(MOST_CLIENTS, await countClients(tx, by.accountId), "OAuth clients per account");
    const at = clock();
    const { secret, secret_sha256 } = newSecret();
    const client = await insertClient(tx, {
      account_id: by.accountId,
      id: newClientId(),
      label,
      redirect_uri,
      public: isPublic,
      secret_sha256,
      created_at: at,
      deleted_at: null,
    });
    await recordClientChange(tx, by, client, { audited: "create_oauth_client", event: "oauth_client_create", at });
    const view = viewOfClient(client, publicUrl, secret);
    await idempotency.keep(tx, view);
    return view;
  });
