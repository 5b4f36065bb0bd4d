import type { Access } from "@moorage/contract";
import { expect, test } from "vitest";
import { type Principal, requireAccess } from "./principal.ts";

const person = (change: Partial<Principal>): Principal => ({
  accountId: 1,
  accountUuid: "00000000-0000-4000-8000-000000000001",
  userId: 1,
  tokenId: 1,
  username: "alice",
  nameSince: new Date(0),
  clientId: null,
  restricted: false,
  globalGrants: {},
  scopes: ["*"],
  ...change,
});
const both: Access = { scopes: ["databases:read_only", "events:read_only"], unrestrictedOnly: true };

test("all scopes and an unrestricted user are allowed", () => {
  expect(() => requireAccess(person({}), both)).not.toThrow();
});

test.each([
  [person({ restricted: true }), "only unrestricted users"],
  [person({ scopes: ["events:read_only"] }), "the scope databases:read_only."],
  [person({ scopes: [] }), "the scope databases:read_only and events:read_only."],
  [person({ scopes: [], restricted: true }), "the scope databases:read_only and events:read_only."],
])("%j is refused with %s", (principal, reason) => {
  expect(() => requireAccess(principal, both)).toThrow(reason);
});
