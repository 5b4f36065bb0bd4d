/**
 * Who may use which operation, written by hand from the interface and its decisions, never from the operation table:
 * the two are compared, so that a mistake in either is found. An operation without a row fails the test.
 */
export type ExpectedAccess =
  | "public"
  | {
      /** The scopes that the token needs, all of them. */
      scopes: readonly string[];
      /** Only a personal token that has every scope, or that its user has just confirmed; never the token of an app. */
      confirmed?: true;
      /** Restricted users are refused, whatever their grants. */
      unrestrictedOnly?: true;
      /** The grant for the whole account that a restricted user needs. */
      grant?: string;
      /**
       * What a restricted user needs on the object in the path. `own`: only the caller's own objects. `bearer`: the
       * path contains a secret, and whoever has it may.
       */
      object?: "read_only" | "read_write" | "own" | "bearer";
      /** The operator's objects need no token; a token that is sent is checked, and must have the scopes. */
      operatorsForAll?: true;
    };

export const expectedAccess: Readonly<Record<string, ExpectedAccess>> = {
  "GET /v4/databases/engines": "public",
  "GET /v4/databases/engines/:engineId": "public",
  "GET /v4/databases/types": "public",
  "GET /v4/databases/types/:typeId": "public",
  "GET /v4/regions": "public",
  "GET /v4/regions/:regionId": "public",
  "GET /v4/compute/types": "public",
  "GET /v4/compute/types/:typeId": "public",

  "GET /v4/databases/instances": { scopes: ["databases:read_only"] },
  "GET /v4/databases/mysql/instances": { scopes: ["databases:read_only"] },
  "POST /v4/databases/mysql/instances": { scopes: ["databases:read_write"], grant: "add_databases" },
  "GET /v4/databases/mysql/instances/:instanceId": { scopes: ["databases:read_only"], object: "read_only" },
  "PUT /v4/databases/mysql/instances/:instanceId": { scopes: ["databases:read_write"], object: "read_write" },
  "DELETE /v4/databases/mysql/instances/:instanceId": {
    scopes: ["databases:read_write"],
    unrestrictedOnly: true,
    object: "read_write",
  },
  // Whoever has the password can write, so the user needs more than the scope says.
  "GET /v4/databases/mysql/instances/:instanceId/credentials": {
    scopes: ["databases:read_only"],
    object: "read_write",
  },
  "GET /v4/databases/mysql/instances/:instanceId/ssl": { scopes: ["databases:read_only"], object: "read_only" },

  "POST /v4/databases/mysql/instances/:instanceId/credentials/reset": {
    scopes: ["databases:read_write"],
    unrestrictedOnly: true,
    object: "read_write",
  },
  "POST /v4/databases/mysql/instances/:instanceId/patch": { scopes: ["databases:read_write"], object: "read_write" },
  "POST /v4/databases/mysql/instances/:instanceId/suspend": { scopes: ["databases:read_write"], object: "read_write" },
  "POST /v4/databases/mysql/instances/:instanceId/resume": { scopes: ["databases:read_write"], object: "read_write" },
  "POST /v4/databases/mysql/instances/:instanceId/switchover": {
    scopes: ["databases:read_write"],
    object: "read_write",
  },
  "POST /v4/databases/mysql/instances/:instanceId/promote": {
    scopes: ["databases:read_write"],
    object: "read_write",
  },
  "GET /v4/databases/mysql/instances/:instanceId/failovers": { scopes: ["databases:read_only"], object: "read_only" },

  "GET /v4/databases/mysql/instances/:instanceId/backups": { scopes: ["databases:read_only"], object: "read_only" },
  "POST /v4/databases/mysql/instances/:instanceId/backups": { scopes: ["databases:read_write"], object: "read_write" },
  "GET /v4/databases/mysql/instances/:instanceId/backups/:backupId": {
    scopes: ["databases:read_only"],
    object: "read_only",
  },
  "DELETE /v4/databases/mysql/instances/:instanceId/backups/:backupId": {
    scopes: ["databases:read_write"],
    object: "read_write",
  },
  "POST /v4/databases/mysql/instances/:instanceId/backups/:backupId/restore": {
    scopes: ["databases:read_write"],
    object: "read_write",
  },

  "GET /v4/databases/mysql/instances/:instanceId/metrics/:metric": {
    scopes: ["databases:read_only"],
    object: "read_only",
  },

  "GET /v4/compute/instances": { scopes: ["computes:read_only"] },
  "GET /v4/compute/instances/:computeId": { scopes: ["computes:read_only"], object: "read_only" },
  "GET /v4/compute/instances/:computeId/disks": { scopes: ["computes:read_only"], object: "read_only" },
  "GET /v4/compute/instances/:computeId/disks/:diskId": { scopes: ["computes:read_only"], object: "read_only" },

  "GET /v4/images": { scopes: ["images:read_only"], operatorsForAll: true },
  "GET /v4/images/:imageId": { scopes: ["images:read_only"], object: "read_only", operatorsForAll: true },
  "POST /v4/images": { scopes: ["images:read_write", "computes:read_only"], grant: "add_images" },
  "POST /v4/images/upload": { scopes: ["images:read_write"], grant: "add_images" },
  "PUT /v4/images/:imageId": { scopes: ["images:read_write"], object: "read_write" },
  "DELETE /v4/images/:imageId": { scopes: ["images:read_write"], object: "read_write" },

  "GET /v4/account": { scopes: ["account:read_only"], grant: "account_read" },
  "PUT /v4/account": { scopes: ["account:read_write"], grant: "account_write" },
  "GET /v4/account/settings": { scopes: ["account:read_only"], grant: "account_read" },
  "PUT /v4/account/settings": { scopes: ["account:read_write"], grant: "account_write" },
  "GET /v4/account/availability": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/availability/:regionId": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/transfer": { scopes: ["account:read_only"], grant: "account_read" },
  "POST /v4/account/cancel": { scopes: ["account:read_write"], unrestrictedOnly: true },
  // Any token; the reply shows what the user may view.
  "GET /v4/account/maintenance": { scopes: [] },

  "GET /v4/account/invoices": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/invoices/:invoiceId": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/invoices/:invoiceId/items": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/invoices/:invoiceId/pdf": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/invoices/:invoiceId/csv": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/payments": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/payments/:paymentId": { scopes: ["account:read_only"], grant: "account_read" },
  "POST /v4/account/payments": { scopes: ["account:read_write"], grant: "account_write" },
  "GET /v4/account/payment-methods": { scopes: ["account:read_only"], grant: "account_read" },
  "POST /v4/account/payment-methods": { scopes: ["account:read_write"], grant: "account_write" },
  "POST /v4/account/payment-methods/link": { scopes: ["account:read_write"], grant: "account_write" },
  "POST /v4/account/credit-card": { scopes: ["account:read_write"], grant: "account_write" },
  "GET /v4/account/payment-methods/:paymentMethodId": { scopes: ["account:read_only"], grant: "account_read" },
  // The interface names only this scope; the user must be permitted to change the account.
  "DELETE /v4/account/payment-methods/:paymentMethodId": { scopes: ["account:read_only"], grant: "account_write" },
  "POST /v4/account/payment-methods/:paymentMethodId/make-default": {
    scopes: ["account:read_write"],
    grant: "account_write",
  },

  "GET /v4/account/service-transfers": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "POST /v4/account/service-transfers": { scopes: ["account:read_write"], unrestrictedOnly: true },
  "GET /v4/account/service-transfers/:token": {
    scopes: ["account:read_only"],
    unrestrictedOnly: true,
    object: "bearer",
  },
  "DELETE /v4/account/service-transfers/:token": { scopes: ["account:read_write"], unrestrictedOnly: true },
  "POST /v4/account/service-transfers/:token/accept": {
    scopes: ["account:read_write"],
    unrestrictedOnly: true,
    object: "bearer",
  },

  "GET /v4/account/notifications": { scopes: ["account:read_only"], grant: "account_read" },
  "GET /v4/account/events": { scopes: ["events:read_only"] },
  // Whoever may view an object sees its events; marking an event does not change the account.
  "GET /v4/account/events/:eventId": { scopes: ["events:read_only"], object: "read_only" },
  "POST /v4/account/events/:eventId/read": { scopes: ["events:read_only"], object: "read_only" },
  "POST /v4/account/events/:eventId/seen": { scopes: ["events:read_only"], object: "read_only" },

  // Only unrestricted users may manage permissions.
  "GET /v4/account/users": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "POST /v4/account/users": { scopes: ["account:read_write"], confirmed: true, unrestrictedOnly: true },
  "GET /v4/account/users/:username": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "PUT /v4/account/users/:username": { scopes: ["account:read_write"], confirmed: true, unrestrictedOnly: true },
  "DELETE /v4/account/users/:username": { scopes: ["account:read_write"], confirmed: true, unrestrictedOnly: true },
  "GET /v4/account/users/:username/grants": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "PUT /v4/account/users/:username/grants": { scopes: ["account:read_write"], confirmed: true, unrestrictedOnly: true },
  "GET /v4/account/logins": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "GET /v4/account/logins/:loginId": { scopes: ["account:read_only"], unrestrictedOnly: true },

  "GET /v4/account/oauth-clients": { scopes: ["account:read_only"], grant: "account_read" },
  "POST /v4/account/oauth-clients": { scopes: ["account:read_write"], grant: "account_write" },
  "GET /v4/account/oauth-clients/:clientId": { scopes: ["account:read_only"], grant: "account_read" },
  "PUT /v4/account/oauth-clients/:clientId": { scopes: ["account:read_write"], grant: "account_write" },
  "DELETE /v4/account/oauth-clients/:clientId": { scopes: ["account:read_write"], grant: "account_write" },
  "POST /v4/account/oauth-clients/:clientId/reset-secret": { scopes: ["account:read_write"], grant: "account_write" },
  // A user who is asked for consent must see the app before signing in.
  "GET /v4/account/oauth-clients/:clientId/thumbnail": "public",
  "PUT /v4/account/oauth-clients/:clientId/thumbnail": { scopes: ["account:read_write"], grant: "account_write" },

  // Programs request their user's profile before they know their permissions.
  "GET /v4/profile": { scopes: [] },
  "GET /v4/profile/grants": { scopes: [] },
  // The rest of a user's profile needs no grant, but it needs a scope.
  "PUT /v4/profile": { scopes: ["account:read_write"] },
  "GET /v4/profile/preferences": { scopes: ["account:read_only"] },
  "PUT /v4/profile/preferences": { scopes: ["account:read_write"] },
  "GET /v4/profile/tokens": { scopes: ["account:read_only"] },
  "POST /v4/profile/tokens": { scopes: ["account:read_write"], confirmed: true },
  "GET /v4/profile/tokens/:tokenId": { scopes: ["account:read_only"], object: "own" },
  "PUT /v4/profile/tokens/:tokenId": { scopes: ["account:read_write"], object: "own" },
  "DELETE /v4/profile/tokens/:tokenId": { scopes: ["account:read_write"], object: "own" },
  "GET /v4/profile/apps": { scopes: ["account:read_only"] },
  "GET /v4/profile/apps/:appId": { scopes: ["account:read_only"], object: "own" },
  "DELETE /v4/profile/apps/:appId": { scopes: ["account:read_write"], object: "own" },
  "GET /v4/profile/logins": { scopes: ["account:read_only"] },
  "GET /v4/profile/logins/:loginId": { scopes: ["account:read_only"], object: "own" },
  "POST /v4/profile/tfa-enable": { scopes: ["account:read_write"], confirmed: true },
  "POST /v4/profile/tfa-enable-confirm": { scopes: ["account:read_write"], confirmed: true },
  "POST /v4/profile/tfa-disable": { scopes: ["account:read_write"], confirmed: true },
};

const areas = [
  "account",
  "databases",
  "domains",
  "events",
  "firewall",
  "images",
  "ips",
  "computes",
  "kube",
  "monitor",
  "balancers",
  "object_storage",
  "scripts",
  "volumes",
  "vpc",
];

/** Every scope that a token can have, by its full name. */
export const everyScope = areas.flatMap((area) => [`${area}:read_only`, `${area}:read_write`]);

/** The scopes that include `needed`: itself, and write includes read. */
const givers = (needed: string): string[] =>
  needed.endsWith(":read_only") ? [needed, needed.replace(":read_only", ":read_write")] : [needed];

export const gives = (held: readonly string[], needed: readonly string[]): boolean =>
  needed.every((scope) => givers(scope).some((giver) => held.includes(giver)));

/** All scopes that a token can have without having this one. */
export const everyScopeBut = (needed: string): string[] =>
  everyScope.filter((scope) => !givers(needed).includes(scope));

export const everyGrant = ["account_read", "account_write", "add_databases", "add_images"];
