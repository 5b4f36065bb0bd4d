import {
  createUser as createUserOperation,
  deleteUser as deleteUserOperation,
  listAccountLogins,
  listUsers,
  updateUser as updateUserOperation,
  updateUserGrants,
  viewAccountLogin,
  viewUser,
  viewUserGrants,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { findLogin, findUser, listLoginPage, type Principal } from "#identity/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { changeGrants } from "./change-grants.ts";
import { createUser, faultsOfPart, type UserDeps } from "./create-user.ts";
import { deleteUser } from "./delete-user.ts";
import { viewGrants } from "./grant-store.ts";
import { updateUser } from "./update-user.ts";
import { findUserToView, listUserPage } from "./user-store.ts";
import { viewOfLogin, viewOfUser } from "./user.ts";

export type UserRouteDeps = RouteDeps & UserDeps;

export function userRoutes(app: FastifyInstance, deps: UserRouteDeps): void {
  const { db, clock } = deps;
  const requireUser = async ({ principal, params }: { principal: Principal; params: { username: string } }) => {
    const user = await findUser(db, principal.accountId, params.username);
    if (user === undefined) throw notFound();
    return user;
  };

  route(app, deps, listUsers, async ({ principal, page, filter }) => {
    const { rows, results } = await listUserPage(db, principal.accountId, page, filter);
    return toPage(page, results, rows.map(viewOfUser));
  });

  route(
    app,
    deps,
    createUserOperation,
    async ({ principal, body, idempotency }) => createUser(deps, principal, body, idempotency),
    undefined,
    (part) => faultsOfPart(db, part),
  );

  route(app, deps, viewUser, async ({ principal, params }) =>
    viewOfUser(await findUserToView(db, principal.accountId, params.username)),
  );

  route(
    app,
    deps,
    updateUserOperation,
    async ({ principal, params, body }) => updateUser(deps, principal, params.username, body),
    requireUser,
  );

  route(app, deps, deleteUserOperation, async ({ principal, params }) => {
    await deleteUser(deps, principal, params.username);
    return {};
  });

  route(app, deps, viewUserGrants, async (call) => viewGrants(db, await requireUser(call), "all"));

  route(
    app,
    deps,
    updateUserGrants,
    async ({ principal, params, body }) => changeGrants(deps, principal, params.username, body),
    requireUser,
  );

  route(app, deps, listAccountLogins, async ({ principal: { accountId }, page, filter }) => {
    const { rows, results } = await listLoginPage(db, { accountId }, page, filter, clock());
    return toPage(page, results, rows.map(viewOfLogin));
  });

  route(app, deps, viewAccountLogin, async ({ principal: { accountId }, params }) =>
    viewOfLogin(await findLogin(db, { accountId }, params.loginId, clock())),
  );
}
