/**
 * Who may use which operation, written by hand from the interface and its decisions, never from the operation table:
 * the two are compared, so that a slip in either is found. An operation without a row fails the test.
 */
export type ExpectedAccess =
  | "public"
  | {
      /** What the token needs, all of them. */
      scopes: readonly string[];
      /** Restricted users are refused, whatever they hold. */
      unrestrictedOnly?: true;
      /** What a restricted user needs for the whole account. */
      grant?: string;
      /**
       * What a restricted user needs on the object in the path. `own`: it is the caller's, and nobody else's. `bearer`:
       * the path holds a secret, and whoever has it may.
       */
      object?: "read_only" | "read_write" | "own" | "bearer";
      /** What is the operator's needs no token; one that is sent is checked, and must carry the scopes. */
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
  // The password lets its holder write, so the user needs more than the scope says.
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
  // Any token; what is shown is what the user may view.
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
  // The interface lists no more than this scope; the user must be one who may change the account.
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
  // An event is seen by whoever may view what it happened to; marking it is no change of the account.
  "GET /v4/account/events/:eventId": { scopes: ["events:read_only"], object: "read_only" },
  "POST /v4/account/events/:eventId/read": { scopes: ["events:read_only"], object: "read_only" },
  "POST /v4/account/events/:eventId/seen": { scopes: ["events:read_only"], object: "read_only" },

  // Who may do what is the business of those who may do everything.
  "GET /v4/account/users": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "POST /v4/account/users": { scopes: ["account:read_write"], unrestrictedOnly: true },
  "GET /v4/account/users/:username": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "PUT /v4/account/users/:username": { scopes: ["account:read_write"], unrestrictedOnly: true },
  "DELETE /v4/account/users/:username": { scopes: ["account:read_write"], unrestrictedOnly: true },
  "GET /v4/account/users/:username/grants": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "PUT /v4/account/users/:username/grants": { scopes: ["account:read_write"], unrestrictedOnly: true },
  "GET /v4/account/logins": { scopes: ["account:read_only"], unrestrictedOnly: true },
  "GET /v4/account/logins/:loginId": { scopes: ["account:read_only"], unrestrictedOnly: true },

  "GET /v4/account/oauth-clients": { scopes: ["account:read_only"], grant: "account_read" },
  "POST /v4/account/oauth-clients": { scopes: ["account:read_write"], grant: "account_write" },
  "GET /v4/account/oauth-clients/:clientId": { scopes: ["account:read_only"], grant: "account_read" },
  "PUT /v4/account/oauth-clients/:clientId": { scopes: ["account:read_write"], grant: "account_write" },
  "DELETE /v4/account/oauth-clients/:clientId": { scopes: ["account:read_write"], grant: "account_write" },
  "POST /v4/account/oauth-clients/:clientId/reset-secret": { scopes: ["account:read_write"], grant: "account_write" },
  // Whoever is asked to let an app in must see it, and is nobody yet.
  "GET /v4/account/oauth-clients/:clientId/thumbnail": "public",
  "PUT /v4/account/oauth-clients/:clientId/thumbnail": { scopes: ["account:read_write"], grant: "account_write" },

  // Programs ask who they are before they know what they may do.
  "GET /v4/profile": { scopes: [] },
  "GET /v4/profile/grants": { scopes: [] },
  // The rest of a person's own is theirs without any grant, but not for every token of theirs.
  "PUT /v4/profile": { scopes: ["account:read_write"] },
  "GET /v4/profile/preferences": { scopes: ["account:read_only"] },
  "PUT /v4/profile/preferences": { scopes: ["account:read_write"] },
  "GET /v4/profile/tokens": { scopes: ["account:read_only"] },
  "POST /v4/profile/tokens": { scopes: ["account:read_write"] },
  "GET /v4/profile/tokens/:tokenId": { scopes: ["account:read_only"], object: "own" },
  "PUT /v4/profile/tokens/:tokenId": { scopes: ["account:read_write"], object: "own" },
  "DELETE /v4/profile/tokens/:tokenId": { scopes: ["account:read_write"], object: "own" },
  "GET /v4/profile/apps": { scopes: ["account:read_only"] },
  "GET /v4/profile/apps/:appId": { scopes: ["account:read_only"], object: "own" },
  "DELETE /v4/profile/apps/:appId": { scopes: ["account:read_write"], object: "own" },
  "GET /v4/profile/logins": { scopes: ["account:read_only"] },
  "GET /v4/profile/logins/:loginId": { scopes: ["account:read_only"], object: "own" },
  "POST /v4/profile/tfa-enable": { scopes: ["account:read_write"] },
  "POST /v4/profile/tfa-enable-confirm": { scopes: ["account:read_write"] },
  "POST /v4/profile/tfa-disable": { scopes: ["account:read_write"] },
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

/** Every scope that a token can carry, by its full name. */
export const everyScope = areas.flatMap((area) => [`${area}:read_only`, `${area}:read_write`]);

/** The scopes that give `needed`: itself, and writing gives reading. */
const givers = (needed: string): string[] =>
  needed.endsWith(":read_only") ? [needed, needed.replace(":read_only", ":read_write")] : [needed];

export const gives = (held: readonly string[], needed: readonly string[]): boolean =>
  needed.every((scope) => givers(scope).some((giver) => held.includes(giver)));

/** As much as a token can hold without having this one. */
export const everyScopeBut = (needed: string): string[] =>
  everyScope.filter((scope) => !givers(needed).includes(scope));

export const everyGrant = ["account_read", "account_write", "add_databases", "add_images"];
