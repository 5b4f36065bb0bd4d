import type { NewOAuthClient, OAuthClient, OAuthClientChange } from "@moorage/contract";
import { recordChange, type RecordedChange } from "#events/index.ts";
import { type Principal, requireFewerThan } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { countClients, insertClient, lockClient, type OAuthClientRow, saveClient } from "./client-store.ts";
import { entityOfClient, newClientId, newSecret, targetOfClient, viewOfClient } from "./oauth-client.ts";

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

/**
 * A client that becomes public, or stops being public, authenticates differently from when its tokens were issued. One
 * with another redirect URI leads people elsewhere than where they agreed to, and one with another label is not the app
 * that they saw: all of its tokens and consents end. The operator verified the label and the redirect URI: another one of
 * either ends the verification.
 * Clients wait for the event, so every accepted PUT emits one.
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
    const isAsShown = label === before.label && redirect_uri === before.redirect_uri;
    const ends = isPublic !== before.public || !isAsShown;
    const verified = before.verified && isAsShown;
    const after = await saveClient(tx, before, { label, redirect_uri, public: isPublic, verified }, { endsAll: ends });
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

export const recordClientChange = (
  tx: Tx,
  by: Principal,
  client: OAuthClientRow,
  change: RecordedChange,
): Promise<void> =>
  recordChange(tx, by, { ...change, target: targetOfClient(client.id), entity: entityOfClient(client) });
