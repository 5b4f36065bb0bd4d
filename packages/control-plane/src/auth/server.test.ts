import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { DomainError } from "#platform/errors.ts";
import { TooManyRequests } from "#platform/limits/caller.ts";
import { createPageServer } from "./server.ts";

const pages = {
  error: ({ title, text }: { title: string; text: string }) => `${title}: ${text}`,
  signOut: () => "",
  signedOut: () => "",
  userCode: () => "",
  deviceSignedIn: () => "",
};

test("the log line of a refused page has the codes of its errors, never their texts", async () => {
  const lines: string[] = [];
  const log = pino(
    new Writable({
      write(line, _encoding, done) {
        lines.push(String(line));
        done();
      },
    }),
  );
  const app = createPageServer(log, { issuer: "https://login.example.com", trustedProxies: false, pages });
  onTestFinished(() => app.close());
  app.get("/refused", async () => {
    throw new DomainError("invalid", { reason: { code: "sign_in.form_expected", text: "prose" } });
  });
  app.get("/limited", async () => {
    throw new TooManyRequests();
  });

  const refused = await app.inject({ url: "/refused" });
  for (const url of ["/limited", "/nothing"]) await app.inject({ url });

  expect(refused).toMatchObject({ statusCode: 400, body: expect.stringContaining("prose") });
  expect(lines.map((line) => (JSON.parse(line) as { codes: string[] }).codes)).toEqual([
    ["sign_in.form_expected"],
    ["sign_in.too_many_requests"],
    ["sign_in.page_missing"],
  ]);
  expect(lines.join()).not.toContain("prose");
});
