import { timingSafeEqual } from "node:crypto";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import { accountCommands } from "./accounts.ts";
import { catalogueCommands } from "./catalogue.ts";
import { auditCommands } from "./audit.ts";
import { type ComputeCommandDeps, computeCommands } from "./computes.ts";
import { creditCommands } from "./credits.ts";
import { type DatabaseCommandDeps, databaseCommands } from "./databases.ts";
import { hostCommands } from "./hosts.ts";
import { imageLinkCommands, type ImageLinkDeps } from "./image-links.ts";
import { imageCommands } from "./images.ts";
import { invoiceCommands } from "./invoices.ts";
import { type KeyCommandDeps, keyCommands } from "./keys.ts";
import { maintenanceCommands } from "./maintenance.ts";
import { oauthClientCommands } from "./oauth-clients.ts";
import { operatorRoute } from "./operator-route.ts";
import { paymentCommands } from "./payments.ts";
import { recover, type RecoverDeps } from "./recover.ts";
import { taxCommands } from "./taxes.ts";
import { texts } from "./texts.ts";
import { tokenCommands } from "./tokens.ts";
import { type SignInCommandDeps, signInCommands, userCommands } from "./users.ts";

export type OperatorDeps = ComputeCommandDeps &
  DatabaseCommandDeps &
  ImageLinkDeps &
  KeyCommandDeps &
  RecoverDeps &
  SignInCommandDeps & { operatorTokenSha256: string };

/** The operator's interface. Every call is authenticated, every change audited, each is repeatable. */
export function operatorRoutes(app: FastifyInstance, deps: OperatorDeps): void {
  app.addHook("onRequest", async (request) => {
    // By the route, not by the path as sent: `/%61dmin` reaches the same route.
    if (request.routeOptions.url !== "/health") requireOperator(deps, request);
  });
  catalogueCommands(app, deps);
  accountCommands(app, deps);
  creditCommands(app, deps);
  invoiceCommands(app, deps);
  auditCommands(app, deps);
  keyCommands(app, deps);
  taxCommands(app, deps);
  userCommands(app, deps);
  signInCommands(app, deps);
  tokenCommands(app, deps);
  oauthClientCommands(app, deps);
  paymentCommands(app, deps);
  hostCommands(app, deps);
  computeCommands(app, deps);
  maintenanceCommands(app, deps);
  databaseCommands(app, deps);
  imageCommands(app, deps);
  imageLinkCommands(app, deps);
  operatorRoute(app, contract.recover, ({ body }) => recover(deps, body));
}

function requireOperator(deps: OperatorDeps, request: FastifyRequest): void {
  const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const given = sha256(token);
  if (!timingSafeEqual(given, Buffer.from(deps.operatorTokenSha256, "hex")))
    throw new DomainError("unauthorized", { reason: texts.tokenRequired() });
}
