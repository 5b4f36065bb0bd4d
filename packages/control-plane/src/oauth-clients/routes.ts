import {
  createOAuthClient,
  deleteOAuthClient,
  listOAuthClients,
  resetOAuthClientSecret,
  updateOAuthClient,
  updateOAuthClientThumbnail,
  viewOAuthClient,
  viewOAuthClientThumbnail,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import type { Principal } from "#identity/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findClient, listClientPage } from "./client-store.ts";
import { type ClientDeps, createClient, resetSecret, updateClient } from "./change-client.ts";
import { deleteClient } from "./delete-client.ts";
import { viewOfClient } from "./oauth-client.ts";
import { findThumbnail } from "./thumbnail-store.ts";
import { createThumbnailer, putThumbnail } from "./thumbnail.ts";

export type OAuthClientRouteDeps = RouteDeps &
  ClientDeps & {
    /** How long a picture may take, instead of the default. */
    thumbnailSeconds?: number;
  };

export function oauthClientRoutes(app: FastifyInstance, deps: OAuthClientRouteDeps): void {
  const { db, publicUrl } = deps;
  const makeThumbnail = createThumbnailer(deps.thumbnailSeconds);
  const requireClient = ({ principal, params }: { principal: Principal; params: { clientId: string } }) =>
    findClient(db, principal.accountId, params.clientId);

  route(app, deps, listOAuthClients, async ({ principal, page, filter }) => {
    const { rows, results } = await listClientPage(db, principal.accountId, page, filter);
    return toPage(
      page,
      results,
      rows.map((row) => viewOfClient(row, publicUrl)),
    );
  });

  route(app, deps, createOAuthClient, ({ principal, body, idempotency }) =>
    createClient(deps, principal, body, idempotency),
  );

  route(app, deps, viewOAuthClient, async (call) => viewOfClient(await requireClient(call), publicUrl));

  route(
    app,
    deps,
    updateOAuthClient,
    ({ principal, params, body }) => updateClient(deps, principal, params.clientId, body),
    requireClient,
  );

  route(app, deps, deleteOAuthClient, async ({ principal, params }) => {
    await deleteClient(deps, principal, params.clientId);
    return {};
  });

  route(app, deps, resetOAuthClientSecret, ({ principal, params, idempotency }) =>
    resetSecret(deps, principal, params.clientId, idempotency),
  );

  route(app, deps, viewOAuthClientThumbnail, async ({ params }) => {
    const png = await findThumbnail(db, params.clientId);
    if (png === undefined) throw notFound();
    return png;
  });

  route(
    app,
    deps,
    updateOAuthClientThumbnail,
    async ({ principal, params, body }) => {
      await putThumbnail({ ...deps, makeThumbnail }, principal, params.clientId, body);
      return {};
    },
    requireClient,
  );
}
