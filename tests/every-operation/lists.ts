import type { Person } from "./apps.ts";
import { ofRestricted } from "./cells.ts";
import type { ExpectedAccess } from "./expected-access.ts";
import type { Fixture, Target } from "./fixture.ts";

/** The path of one item of a list, and the field of the item that identifies it. */
export const listed: Readonly<Record<string, { param: string; key: string; view: string }>> = {
  "GET /v4/databases/instances": {
    param: "instanceId",
    key: "id",
    view: "/v4/databases/mysql/instances/:instanceId",
  },
  "GET /v4/databases/mysql/instances": {
    param: "instanceId",
    key: "id",
    view: "/v4/databases/mysql/instances/:instanceId",
  },
  "GET /v4/compute/instances": { param: "computeId", key: "id", view: "/v4/compute/instances/:computeId" },
  "GET /v4/images": { param: "imageId", key: "id", view: "/v4/images/:imageId" },
  "GET /v4/account/events": { param: "eventId", key: "id", view: "/v4/account/events/:eventId" },
  "GET /v4/account/users": { param: "username", key: "username", view: "/v4/account/users/:username" },
  "GET /v4/account/logins": { param: "loginId", key: "id", view: "/v4/account/logins/:loginId" },
  "GET /v4/account/oauth-clients": { param: "clientId", key: "id", view: "/v4/account/oauth-clients/:clientId" },
  "GET /v4/account/invoices": { param: "invoiceId", key: "id", view: "/v4/account/invoices/:invoiceId" },
  "GET /v4/account/payments": { param: "paymentId", key: "id", view: "/v4/account/payments/:paymentId" },
  "GET /v4/account/payment-methods": {
    param: "paymentMethodId",
    key: "id",
    view: "/v4/account/payment-methods/:paymentMethodId",
  },
  "GET /v4/account/service-transfers": {
    param: "token",
    key: "token",
    view: "/v4/account/service-transfers/:token",
  },
  "GET /v4/profile/tokens": { param: "tokenId", key: "id", view: "/v4/profile/tokens/:tokenId" },
  "GET /v4/profile/apps": { param: "appId", key: "id", view: "/v4/profile/apps/:appId" },
  "GET /v4/profile/logins": { param: "loginId", key: "id", view: "/v4/profile/logins/:loginId" },
};

export type Reader = { person: Person; held?: Parameters<typeof ofRestricted>[1] };

/** Whether a reader's list contains an object of the owner's. */
export function sees(access: ExpectedAccess, fixture: Fixture, { person, held }: Reader, target: Target): boolean {
  if (access === "public") return true;
  if (person.accountId !== fixture.owner.accountId) return false;
  if (access.object === "own") return person.userId === fixture.owner.userId;
  return held === undefined || ofRestricted(access, held, target.entity) === "allowed";
}
