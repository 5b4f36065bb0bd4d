import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { DomainError } from "#platform/errors.ts";
import { validate } from "#platform/http/validate.ts";
import { sha256 } from "#platform/sha256.ts";
import { accountCommands } from "./accounts.ts";
import { catalogueCommands } from "./catalogue.ts";
import { type ComputeCommandDeps, computeCommands } from "./computes.ts";
import { type DatabaseCommandDeps, databaseCommands } from "./databases.ts";
import { Name } from "./fields.ts";
import { hostCommands } from "./hosts.ts";
import { imageCommands } from "./images.ts";
import { type ImageLinkDeps, imageLinkCommands } from "./image-links.ts";
import { invoiceCommands } from "./invoices.ts";
import { maintenanceCommands } from "./maintenance.ts";
import { oauthClientCommands } from "./oauth-clients.ts";
import { creditCommands } from "./credits.ts";
import { paymentCommands } from "./payments.ts";
import { type RecoverDeps, recover } from "./recover.ts";
import { type SignInCommandDeps, signInCommands } from "./sign-in.ts";
import { taxCommands } from "./taxes.ts";
import { texts } from "./texts.ts";
import { tokenCommands } from "./tokens.ts";
import { userCommands } from "./users.ts";

export type OperatorDeps = ComputeCommandDeps &
  DatabaseCommandDeps &
  ImageLinkDeps &
  RecoverDeps &
  SignInCommandDeps & { operatorTokenSha256: string };

const Recover = z.object({ wait_seconds: z.number().min(0).max(300).default(30), without: z.array(Name).default([]) });

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
  app.post("/admin/recover", async (request) => recover(deps, validate(Recover, request.body ?? {})));
}

function requireOperator(deps: OperatorDeps, request: FastifyRequest): void {
  const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const given = sha256(token);
  if (!timingSafeEqual(given, Buffer.from(deps.operatorTokenSha256, "hex")))
    throw new DomainError("unauthorized", { reason: texts.tokenRequired() });
}
