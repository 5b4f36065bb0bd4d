import { expect, test } from "vitest";
import { areas, covers, readScope, readScopes } from "./scopes.ts";

test.each([
  ["*", "*"],
  ["databases:read_only", "databases:read_only"],
  ["databases:*", "databases:read_write"],
  ["linodes:read_write", "computes:read_write"],
  ["lke:*", "kube:read_write"],
  ["databases", undefined],
  ["databases:write", undefined],
  ["databases:read_only:x", undefined],
  ["Databases:read_only", undefined],
  ["moons:read_only", undefined],
  ["constructor:read_only", undefined],
  ["__proto__:read_only", undefined],
  ["", undefined],
])("%j is stored as %j", (text, kept) => {
  expect(readScope(text)).toBe(kept);
});

test("a list is split at commas or spaces, each scope is kept once, and * replaces all others", () => {
  expect(readScopes("images:read_only,databases:* databases:read_write\n images:read_only")).toEqual({
    scopes: ["databases:read_write", "images:read_only"],
    unknown: [],
  });
  expect(readScopes("databases:read_only *")).toEqual({ scopes: ["*"], unknown: [] });
  expect(readScopes("moons:* databases:read_only suns")).toEqual({
    scopes: ["databases:read_only"],
    unknown: ["moons:*", "suns"],
  });
  expect(readScopes(" , ")).toEqual({ scopes: [], unknown: [] });
});

// Judged by what each scope permits, not by its spelling.
test("for every pair of scopes, nobody passes on what they do not hold", () => {
  const all = ["*", ...Object.keys(areas).flatMap((area) => [`${area}:read_only`, `${area}:read_write`])];
  const opens = (scope: string): string[] =>
    scope === "*"
      ? [...all]
      : scope.endsWith(":read_write")
        ? [scope, scope.replace("read_write", "read_only")]
        : [scope];
  for (const held of all)
    for (const requested of all)
      expect([held, requested, covers([held], [requested])]).toEqual([
        held,
        requested,
        opens(requested).every((opened) => opens(held).includes(opened)),
      ]);
  expect(covers(["databases:read_only", "images:read_only"], ["databases:read_only", "images:read_write"])).toBe(false);
  expect(covers([], [])).toBe(true);
});
