import {
  cancelAccount as cancel,
  listAvailability as list,
  updateAccount as update,
  updateAccountSettings,
  viewAccount as view,
  viewAccountSettings,
  viewAccountTransfer,
  viewAvailability as viewOne,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { findAccount } from "./account-store.ts";
import { listAvailability, viewAvailability } from "./availability.ts";
import { cancelAccount, type CancelDeps } from "./cancel-account.ts";
import { updateSettings, viewOfSettings } from "./settings.ts";
import { updateAccount } from "./update-account.ts";
import { viewAccount, type ViewDeps, viewTransfer } from "./view.ts";

export type AccountRouteDeps = RouteDeps & ViewDeps & CancelDeps;

export function accountRoutes(app: FastifyInstance, deps: AccountRouteDeps): void {
  const { db } = deps;

  route(app, deps, view, ({ principal }) => viewAccount(deps, principal.accountId));

  route(app, deps, update, ({ principal, body }) => updateAccount(deps, principal, body));

  route(app, deps, viewAccountSettings, async ({ principal }) =>
    viewOfSettings(await findAccount(db, principal.accountId)),
  );

  route(app, deps, updateAccountSettings, ({ principal, body }) => updateSettings(deps, principal, body));

  route(app, deps, list, ({ principal, page, filter }) => listAvailability(deps, principal.accountId, page, filter));

  route(app, deps, viewOne, ({ principal, params }) => viewAvailability(deps, principal.accountId, params.regionId));

  route(app, deps, viewAccountTransfer, () => viewTransfer(db));

  route(app, deps, cancel, ({ principal, body, idempotency }) => cancelAccount(deps, principal, body, idempotency));
}
