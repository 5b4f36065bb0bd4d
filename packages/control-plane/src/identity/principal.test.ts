import type { Access } from "@moorage/contract";
import { expect, test } from "vitest";
import { holds, type Principal, requireAccess } from "./principal.ts";

test.each([
  [["*"], "databases:read_write", true],
  [["databases:*"], "databases:read_write", true],
  [["databases:read_write"], "databases:read_write", true],
  [["databases:read_write"], "databases:read_only", true],
  [["databases:read_only"], "databases:read_only", true],
  [["events:read_only", "databases:read_only"], "databases:read_only", true],
  [["databases:read_only"], "databases:read_write", false],
  [["events:read_write"], "databases:read_only", false],
  [["events:*"], "databases:read_only", false],
  [["databases"], "databases:read_only", false],
  [[], "databases:read_only", false],
] as const)("a token with %j holds %s: %s", (held, needed, answer) => {
  expect(holds(held, needed)).toBe(answer);
});

const person = (change: Partial<Principal>): Principal => ({
  accountId: 1,
  accountUuid: "00000000-0000-4000-8000-000000000001",
  userId: 1,
  tokenId: 1,
  username: "alice",
  restricted: false,
  globalGrants: {},
  scopes: ["*"],
  ...change,
});
const both: Access = { scopes: ["databases:read_only", "events:read_only"], unrestrictedOnly: true };

test("all scopes and an unrestricted user are let through", () => {
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
