import { expect, test } from "vitest";
import { keptGlobal, viewOfGlobal } from "./grants.ts";

test.each([
  [null, { account_read: false, account_write: false }],
  ["read_only", { account_read: true, account_write: false }],
  ["read_write", { account_read: true, account_write: true }],
] as const)("account_access %s is kept as %j, and shown as it was given", (account_access, kept) => {
  expect(keptGlobal({ account_access })).toEqual(kept);
  expect(viewOfGlobal(kept).account_access).toBe(account_access);
});

test("what a request does not name is not in what is kept of it", () => {
  expect(keptGlobal({})).toEqual({});
  expect(keptGlobal({ add_images: false })).toEqual({ add_images: false });
});

// The operator can give one without the other.
test("who may change the account may read it, however that is kept", () => {
  expect(viewOfGlobal({ account_write: true }).account_access).toBe("read_write");
});
