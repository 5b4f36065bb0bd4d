import * as account from "./account.ts";
import * as computes from "./computes.ts";
import * as databaseBackups from "./database-backups.ts";
import * as databaseFailovers from "./database-failovers.ts";
import * as databaseLifecycle from "./database-lifecycle.ts";
import * as databaseMetrics from "./database-metrics.ts";
import * as databaseOffers from "./database-offers.ts";
import * as databases from "./databases.ts";
import * as events from "./events.ts";
import * as images from "./images.ts";
import * as invoices from "./invoices.ts";
import * as logins from "./logins.ts";
import * as notifications from "./notifications.ts";
import * as oauthClients from "./oauth-clients.ts";
import { isTenantOperation, type Operation } from "./operation.ts";
import * as payments from "./payments.ts";
import * as personalTokens from "./personal-tokens.ts";
import * as profile from "./profile.ts";
import * as regions from "./regions.ts";
import * as transfers from "./transfers.ts";
import * as users from "./users.ts";

/**
 * Every operation of the tenants' interface. Routes, the OpenAPI document, the client and the every-operation test use
 * it.
 */
export const operations: readonly Operation[] = [
  account,
  computes,
  databases,
  databaseBackups,
  databaseFailovers,
  databaseLifecycle,
  databaseMetrics,
  databaseOffers,
  events,
  images,
  invoices,
  logins,
  notifications,
  oauthClients,
  payments,
  personalTokens,
  profile,
  regions,
  transfers,
  users,
]
  .flatMap((family) => Object.values(family) as unknown[])
  .filter(isTenantOperation);
