import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createFormTokens } from "./http.ts";

const k1 = randomBytes(32).toString("base64");
const k2 = randomBytes(32).toString("base64");
const tokens = createFormTokens({ current: "k1", keys: { k1 } });

test("a token is valid for its own purpose and page only", () => {
  const token = tokens.make("interaction", "abc");
  expect(tokens.isRight(token, "interaction", "abc")).toBe(true);
  expect(tokens.isRight(token, "interaction", "abd")).toBe(false);
  expect(tokens.isRight(token, "security", "abc")).toBe(false);
  for (const wrong of ["", "x", `${token}A`, token.slice(1)])
    expect(tokens.isRight(wrong, "interaction", "abc")).toBe(false);
});

test("a page opened before a key rotation still works, and a token by an unknown key does not", () => {
  const token = tokens.make("interaction", "abc");
  expect(createFormTokens({ current: "k2", keys: { k1, k2 } }).isRight(token, "interaction", "abc")).toBe(true);
  expect(createFormTokens({ current: "k2", keys: { k2 } }).isRight(token, "interaction", "abc")).toBe(false);
});
