import type { Access } from "@moorage/contract";
import { expect, test } from "vitest";
import { type Principal, requireKindOfUser, requireScopes } from "./principal.ts";

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
  confirmedUntil: null,
  ...change,
});
const scopes: Access["scopes"] = ["databases:read_only", "events:read_only"];

test("a token with all scopes is allowed", () => {
  expect(() => requireScopes(person({}), scopes)).not.toThrow();
});

test.each([
  [["events:read_only"], "the scope databases:read_only."],
  [[], "the scope databases:read_only and events:read_only."],
])("a token with %j is refused with %s", (held, reason) => {
  expect(() => requireScopes(person({ scopes: held }), scopes)).toThrow(reason);
});

test("what only unrestricted users may do is refused to a restricted one", () => {
  expect(() => requireKindOfUser(person({}), { unrestrictedOnly: true })).not.toThrow();
  expect(() => requireKindOfUser(person({ restricted: true }), { unrestrictedOnly: true })).toThrow(
    "only unrestricted users",
  );
});
