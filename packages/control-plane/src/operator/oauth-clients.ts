import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance } from "fastify";
import { emit } from "#events/index.ts";
import {
  entityOfClient,
  listEveryClient,
  type OAuthClientRow,
  setStatus,
  setTrust,
  setVerified,
} from "#oauth-clients/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { accountOf } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";
import { texts } from "./texts.ts";

export function oauthClientCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listOAuthClients, async ({ query, page }) => {
    const { rows, results } = await listEveryClient(db, page, await accountOf(db, query));
    return toPage(page, results, rows.map(viewOf));
  });

  // Disabling a client disables its tokens, enabling it restores them: they are looked up through their client.
  const status: Run<typeof contract.setOAuthClientStatus> = async (tx, { params: { clientId }, body }) => {
    const client = (await setStatus(tx, clientId, body.status)) ?? missing(clientId);
    await notifyAccount(tx, client, texts.oauthClientStatusSet(body), clock());
    return viewOf(client);
  };
  command(app, deps, contract.setOAuthClientStatus, status, "identity");

  command(app, deps, contract.setOAuthClientTrust, async (tx, { params: { clientId }, body: { may_add_query } }) => {
    const client = (await setTrust(tx, clientId, may_add_query)) ?? missing(clientId);
    const message = may_add_query ? texts.oauthClientQueryAllowed() : texts.oauthClientQueryDisallowed();
    await notifyAccount(tx, client, message, clock());
    return viewOf(client);
  });

  command(app, deps, contract.setOAuthClientVerified, async (tx, { params: { clientId }, body: { verified } }) => {
    const client = (await setVerified(tx, clientId, verified)) ?? missing(clientId);
    const message = verified ? texts.oauthClientVerified() : texts.oauthClientNotVerified();
    await notifyAccount(tx, client, message, clock());
    return viewOf(client);
  });
}

/** The owners of the client see in their events why their app fails. */
const notifyAccount = (tx: Tx, client: OAuthClientRow, message: Text, at: Date): Promise<unknown> =>
  emit(tx, {
    accountId: client.account_id,
    username: null,
    action: "oauth_client_update",
    status: "notification",
    entity: entityOfClient(client),
    message,
    at,
  });

const missing = (id: string): never => {
  throw new DomainError("not-found", { reason: texts.oauthClientUnknown({ id }) });
};

const viewOf = (client: OAuthClientRow): contract.OAuthClient => ({
  id: client.id,
  account: client.account_id,
  label: client.label,
  redirect_uri: client.redirect_uri,
  public: client.public,
  status: client.status,
  may_add_query: client.may_add_query,
  verified: client.verified,
  created: toTimestamp(client.created_at),
});
