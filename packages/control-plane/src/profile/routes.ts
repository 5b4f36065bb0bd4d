import {
  createPersonalToken,
  deletePersonalToken,
  listAuthorizedApps,
  listLogins,
  listPersonalTokens,
  revokeAuthorizedApp,
  updatePersonalToken,
  updatePreferences as updatePreferencesOperation,
  updateProfile as updateProfileOperation,
  viewAuthorizedApp,
  viewLogin,
  viewPersonalToken,
  viewPreferences,
  viewProfile,
  viewProfileGrants,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { findLogin, listLoginPage } from "#identity/index.ts";
import { toPage } from "#platform/http/page.ts";
import { viewGrants, viewOfLogin } from "#users/index.ts";
import { findApp, listAppPage, revokeApp } from "./apps.ts";
import { createToken, deleteToken, updateToken } from "./tokens.ts";
import { findToken, listTokenPage } from "./token-store.ts";
import { findOwnUser, type ProfileDeps, updatePreferences, updateProfile } from "./update-profile.ts";
import { viewOfApp, viewOfProfile, viewOfToken } from "./view.ts";

export type ProfileRouteDeps = RouteDeps & ProfileDeps & { publicUrl: string | undefined };

export function profileRoutes(app: FastifyInstance, deps: ProfileRouteDeps): void {
  const { db, clock, publicUrl } = deps;

  route(app, deps, viewProfile, async ({ principal }) => viewOfProfile(await findOwnUser(db, principal)));

  route(app, deps, updateProfileOperation, async ({ principal, body }) =>
    viewOfProfile(await updateProfile(deps, principal, body)),
  );

  route(app, deps, viewProfileGrants, async ({ principal }) =>
    viewGrants(db, await findOwnUser(db, principal), "held"),
  );

  route(
    app,
    deps,
    viewPreferences,
    async ({ principal }) => (await findOwnUser(db, principal)).preferences as Record<string, unknown>,
  );

  route(app, deps, updatePreferencesOperation, async ({ principal, body }) => updatePreferences(deps, principal, body));

  route(app, deps, listPersonalTokens, async ({ principal, page, filter }) => {
    const { rows, results } = await listTokenPage(db, principal, page, filter);
    return toPage(
      page,
      results,
      rows.map((row) => viewOfToken(row)),
    );
  });

  route(app, deps, createPersonalToken, async ({ principal, body, idempotency }) =>
    createToken(deps, principal, body, idempotency),
  );

  route(app, deps, viewPersonalToken, async ({ principal, params }) =>
    viewOfToken(await findToken(db, principal, params.tokenId)),
  );

  route(
    app,
    deps,
    updatePersonalToken,
    async ({ principal, params, body }) => viewOfToken(await updateToken(deps, principal, params.tokenId, body)),
    ({ principal, params }) => findToken(db, principal, params.tokenId),
  );

  route(app, deps, deletePersonalToken, async ({ principal, params }) => {
    await deleteToken(deps, principal, params.tokenId);
    return {};
  });

  route(app, deps, listAuthorizedApps, async ({ principal, page, filter }) => {
    const { rows, results } = await listAppPage(db, principal, page, filter, clock());
    return toPage(
      page,
      results,
      rows.map((row) => viewOfApp(row, publicUrl)),
    );
  });

  route(app, deps, viewAuthorizedApp, async ({ principal, params }) =>
    viewOfApp(await findApp(db, principal, params.appId, clock()), publicUrl),
  );

  route(app, deps, revokeAuthorizedApp, async ({ principal, params }) => {
    await revokeApp(deps, principal, params.appId);
    return {};
  });

  route(app, deps, listLogins, async ({ principal, page, filter }) => {
    const { rows, results } = await listLoginPage(db, ownOf(principal), page, filter, clock());
    return toPage(page, results, rows.map(viewOfLogin));
  });

  route(app, deps, viewLogin, async ({ principal, params }) =>
    viewOfLogin(await findLogin(db, ownOf(principal), params.loginId, clock())),
  );
}

const ownOf = ({ accountId, userId }: { accountId: number; userId: number }) => ({ accountId, userId });
