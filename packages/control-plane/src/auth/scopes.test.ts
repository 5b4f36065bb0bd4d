import { describe, expect, test } from "vitest";
import { included, spellScopes, within } from "./scopes.ts";

describe("a list of scopes as clients write it", () => {
  test.each([
    ["databases:read_only", "databases:read_only"],
    ["databases:read_only,account:read_write", "account:read_write databases:read_only"],
    ["linodes:read_only, lke:*", "computes:read_only kube:read_write"],
    ["databases:read_only * account:read_only", "*"],
    ["openid offline_access images:read_only", "openid images:read_only"],
    ["images:read_only sails:read_only", "images:read_only sails:read_only"],
    ["", ""],
  ])("%j is %j", (text, spelled) => {
    expect(spellScopes(text)).toBe(spelled);
  });
});

test("read_write includes read_only, and * includes everything but an ID token", () => {
  expect(included(["images:read_write"])).toEqual(["images:read_only", "images:read_write"]);
  expect(included(["*"])).toContain("vpc:read_write");
  expect(included(["*"])).not.toContain("openid");
});

describe("the requested scopes that may be granted", () => {
  test.each([
    [["images:read_write"], ["images:read_only"], ["images:read_only"]],
    [["images:read_only"], ["images:read_write"], []],
    [["*"], ["images:read_only", "account:read_write"], ["account:read_write", "images:read_only"]],
    [
      ["openid", "images:read_only"],
      ["openid", "images:read_only"],
      ["openid", "images:read_only"],
    ],
    [["images:read_only"], ["openid", "images:read_only"], ["images:read_only"]],
    [["*"], ["*", "images:read_only"], ["*"]],
    [
      ["openid", "*"],
      ["openid", "*"],
      ["openid", "*"],
    ],
  ])("holding %j, of %j: %j", (held, requested, had) => {
    expect(within(held, requested)).toEqual(had);
  });
});
