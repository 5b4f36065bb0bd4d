import { expect, test } from "vitest";
import { sourceOf } from "./server.ts";

test.each([
  ["https://app.example.com/oauth/back?a=b", "https://app.example.com"],
  ["http://127.0.0.1:4711/back", "http://127.0.0.1:4711"],
  ["com.example.app:/back", "com.example.app:"],
])("a policy names %s as %s", (redirect, source) => {
  expect(sourceOf(redirect)).toBe(source);
});
