import { operations } from "@moorage/contract";
import { release } from "@moorage/contract/process";
import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance } from "fastify";
import { type AccountRouteDeps, accountRoutes, createWhenCancelled } from "#account/index.ts";
import { type BillingRouteDeps, billingRoutes } from "#billing/index.ts";
import { type DatabaseRouteDeps, databaseRoutes, hasDatabase } from "#databases/index.ts";
import { eventRoutes } from "#events/index.ts";
import { openapiRoutes } from "#http/openapi/routes.ts";
import { hasImage, type ImageRouteDeps, imageRoutes } from "#images/index.ts";
import { hasCompute, inventoryRoutes } from "#inventory/index.ts";
import { createMails, createNotices } from "#mail/index.ts";
import { notificationRoutes } from "#notifications/index.ts";
import { type OAuthClientRouteDeps, oauthClientRoutes } from "#oauth-clients/index.ts";
import { type OperatorDeps, operatorRoutes } from "#operator/index.ts";
import {
  type CardAdmissionDeps,
  cardAdmissionRoutes,
  type PaymentRouteDeps,
  paymentRoutes,
  requireAdmissionKey,
} from "#payments/index.ts";
import { readiness, type ReadinessDeps } from "#platform/http/readiness.ts";
import { resourceMetadata } from "#platform/http/resource-metadata.ts";
import { createServer } from "#platform/http/server.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import { tenantHeaders } from "#platform/http/tenant-headers.ts";
import type { Log } from "#platform/log.ts";
import { type ProfileRouteDeps, profileRoutes } from "#profile/index.ts";
import { createOffers, regionRoutes } from "#regions/index.ts";
import { createTwoFactorRescue, tfaRoutes } from "#sign-in/index.ts";
import { type TransferRouteDeps, transferRoutes } from "#transfers/index.ts";
import { type UserRouteDeps, userRoutes } from "#users/index.ts";
import { texts } from "./texts.ts";
import { sealedColumns } from "./sealed-columns.ts";

type TenantDeps = AccountRouteDeps &
  BillingRouteDeps &
  CardAdmissionDeps &
  DatabaseRouteDeps &
  ImageRouteDeps &
  OAuthClientRouteDeps &
  PaymentRouteDeps &
  ProfileRouteDeps &
  TransferRouteDeps &
  UserRouteDeps;
export type GivenDeps = Omit<TenantDeps, "exists" | "mails" | "offers" | "whenSettled"> & {
  /** The authorization server, if there is one. */
  authUrl: string | undefined;
  /** How many invitations an account may send in a day. */
  invitationsPerDay: number;
};
export type Serving = Bounds & ReadinessDeps & { trustedProxies: string[] | false };

/** The tenant API. */
export function createTenantApi(log: Log, given: GivenDeps, serving: Serving): FastifyInstance {
  const elsewhere = operations.filter(({ servedBy }) => servedBy !== undefined);
  const whyNowhere = createWhyNowhere(given.publicUrl);
  const app = createServer(log, { trustProxy: serving.trustedProxies }, { elsewhere, whyNowhere });
  tenantHeaders(app);
  shedLoad(app, serving);
  readiness(app, serving);
  const deps = completeDeps(given);
  accountRoutes(app, deps);
  billingRoutes(app, deps);
  databaseRoutes(app, deps);
  eventRoutes(app, deps);
  imageRoutes(app, deps);
  inventoryRoutes(app, deps);
  notificationRoutes(app, deps);
  oauthClientRoutes(app, deps);
  paymentRoutes(app, deps);
  profileRoutes(app, deps);
  regionRoutes(app, deps);
  tfaRoutes(app, deps);
  transferRoutes(app, deps);
  userRoutes(app, deps);
  openapiRoutes(app);
  resourceMetadata(app, given);
  return app;
}

/** Other engines of this API family, whose paths clients know. */
const otherEngine = /^\/v4\/databases\/(?:postgresql|mongodb|redis)(?:\/|$)/;

/** The reason in the 404 for an unknown path: the nearest existing paths, and where the API is described. */
const createWhyNowhere =
  (publicUrl: string | undefined) =>
  (path: string, { prefix, next }: { prefix: string; next: readonly string[] }): Text => {
    const url = publicUrl ?? "";
    if (otherEngine.test(path)) return texts.engineNotOffered({ url });
    return prefix.startsWith("/v4") ? texts.pathUnknown({ prefix, next, url }) : texts.pathWithoutVersion({ url });
  };

/**
 * The endpoints that `cards` calls, on an address that only `cards` can reach: everything about a card except its
 * number and code.
 */
export function createCardAdmission(
  log: Log,
  given: GivenDeps,
  serving: Bounds & { admissionKey: string },
): FastifyInstance {
  // `cards` forwards the caller's address.
  const app = createServer(log, { trustProxy: (_address, hop) => hop === 0 });
  requireAdmissionKey(app, serving.admissionKey);
  shedLoad(app, serving);
  app.get("/health", async () => ({ status: "ok", ...release }));
  cardAdmissionRoutes(app, completeDeps(given));
  return app;
}

const completeDeps = (given: GivenDeps): TenantDeps => ({
  ...given,
  mails: createMails(given),
  offers: createOffers(given),
  whenSettled: { cancel: createWhenCancelled(given) },
  exists: {
    compute: (accountId, id) => hasCompute(given.db, accountId, id),
    database: (accountId, id) => hasDatabase(given.db, accountId, id),
    image: (accountId, id) => hasImage(given.db, accountId, id),
  },
});

/** The operator API has its own listening address, which the front proxy does not serve. */
export function createOperatorApi(
  log: Log,
  deps: Omit<OperatorDeps, "turnOffTwoFactor" | "sealedColumns">,
): FastifyInstance {
  const app = createServer(log);
  app.get("/health", async () => ({ status: "ok", ...release }));
  const turnOffTwoFactor = createTwoFactorRescue({ ...deps, mails: createNotices(deps) });
  operatorRoutes(app, { ...deps, turnOffTwoFactor, sealedColumns });
  return app;
}
