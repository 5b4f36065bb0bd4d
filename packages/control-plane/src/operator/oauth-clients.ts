import { OAuthClient, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { emit } from "#events/index.ts";
import { entityOfClient, listEveryClient, type OAuthClientRow, setStatus, setTrust } from "#oauth-clients/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { readPage, toPage } from "#platform/http/page.ts";
import type { Text } from "@moorage/contract/texts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { texts } from "./texts.ts";

const Status = z.object({ status: OAuthClient.shape.status });
const Trust = z.object({ may_add_query: z.boolean() });

const CLIENT = "/admin/oauth-clients/:id";

export function oauthClientCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get<{ Querystring: { account?: string } }>("/admin/oauth-clients", async ({ query }) => {
    const account = query.account === undefined ? undefined : await findAccount(db, query.account);
    const page = readPage(query);
    const { rows, results } = await listEveryClient(db, page, account?.id);
    return toPage(page, results, rows.map(viewOf));
  });

  // Disabling a client disables its tokens, enabling it restores them: they are looked up through their client.
  const status = { path: `${CLIENT}/status`, body: Status, notifies: "identity" } as const;
  command(app, deps, status, async (tx, change, { id = "" }) => {
    const client = (await setStatus(tx, id, change.status)) ?? missing(id);
    await notifyAccount(tx, client, texts.oauthClientStatusSet(change), clock());
    return viewOf(client);
  });

  command(app, deps, { path: `${CLIENT}/trust`, body: Trust }, async (tx, { may_add_query }, { id = "" }) => {
    const client = (await setTrust(tx, id, may_add_query)) ?? missing(id);
    const message = may_add_query ? texts.oauthClientQueryAllowed() : texts.oauthClientQueryDisallowed();
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

const viewOf = (client: OAuthClientRow) => ({
  id: client.id,
  account: client.account_id,
  label: client.label,
  redirect_uri: client.redirect_uri,
  public: client.public,
  status: client.status,
  may_add_query: client.may_add_query,
  created: toTimestamp(client.created_at),
});
