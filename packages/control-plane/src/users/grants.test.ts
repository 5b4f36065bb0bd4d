import { expect, test } from "vitest";
import { keptGlobal, viewOfGlobal } from "./grant-store.ts";

test.each([
  [null, { account_read: false, account_write: false }],
  ["read_only", { account_read: true, account_write: false }],
  ["read_write", { account_read: true, account_write: true }],
] as const)("account_access %s is stored as %j, and shown as it was set", (account_access, kept) => {
  expect(keptGlobal({ account_access })).toEqual(kept);
  expect(viewOfGlobal(kept).account_access).toBe(account_access);
});

test("fields missing in a request are not in what is stored", () => {
  expect(keptGlobal({})).toEqual({});
  expect(keptGlobal({ add_images: false })).toEqual({ add_images: false });
});

// The operator can grant one without the other.
test("a user who may change the account may read it, however that is stored", () => {
  expect(viewOfGlobal({ account_write: true }).account_access).toBe("read_write");
});
