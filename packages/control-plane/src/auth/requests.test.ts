import { expect, test } from "vitest";
import { clientIdIn, readAuthorizeQuery, readTokenForm } from "./routes.ts";

test("scope and scopes are equivalent, in any spelling", () => {
  expect(readAuthorizeQuery("scopes=linodes:read_only,account:read_only&state=x%26y")).toBe(
    "state=x%26y&scope=account%3Aread_only+computes%3Aread_only",
  );
  expect(readAuthorizeQuery("scope=images:*&scopes=images:read_write")).toBe("scope=images%3Aread_write");
});

test("two different lists stay two, which the provider refuses", () => {
  expect(readAuthorizeQuery("scope=images:read_only&scopes=images:read_write")).toBe(
    "scope=images%3Aread_only&scope=images%3Aread_write",
  );
});

test("a response mode other than query becomes an unknown one", () => {
  expect(readAuthorizeQuery("response_mode=query")).toBe("response_mode=query");
  expect(readAuthorizeQuery("response_mode=form_post")).toBe("response_mode=unknown");
});

test("a form without a grant type exchanges a code", () => {
  expect(readTokenForm(new URLSearchParams("code=1")).get("grant_type")).toBe("authorization_code");
  expect(readTokenForm(new URLSearchParams("grant_type=refresh_token")).get("grant_type")).toBe("refresh_token");
});

test("a client names itself in the header or in the form", () => {
  const form = new URLSearchParams({ client_id: "in-form" });
  expect(clientIdIn(undefined, form)).toBe("in-form");
  expect(clientIdIn("Bearer abc", form)).toBe("in-form");
  expect(clientIdIn(`Basic ${Buffer.from("in-header:secret").toString("base64")}`, form)).toBe("in-header");
  expect(clientIdIn(undefined, new URLSearchParams())).toBe("");
});
