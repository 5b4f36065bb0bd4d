import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { createServer } from "./server.ts";
import { texts } from "./texts.ts";

test.each([
  ["a statement that was cancelled", { code: "57014" }, 503],
  ["a lock that was not available", { code: "55P03" }, 503],
  ["no connection in time", { message: "timeout exceeded when trying to connect" }, 503],
  ["a violated constraint", { code: "23505" }, 500],
])("%s becomes the right answer", async (_what, error, status) => {
  const app = createServer(createLog("test", "silent"));
  app.get("/", async () => {
    throw Object.assign(new Error("from the database"), error);
  });

  const reply = await app.inject({ url: "/" });

  expect(reply.statusCode).toBe(status);
  expect(reply.headers["retry-after"]).toBe(status === 503 ? "5" : undefined);
  expect(reply.json()).toEqual({
    errors: [{ reason: (status === 503 ? texts.tookTooLong() : texts.internalError()).text }],
  });
});
