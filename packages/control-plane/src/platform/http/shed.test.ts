import { request as send } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { createServer } from "./server.ts";
import { type Bounds, shedLoad } from "./shed.ts";
import { texts } from "./texts.ts";

const newApp = (bounds: Partial<Bounds> = {}) => {
  const app = createServer(createLog("test", "silent"));
  shedLoad(app, { maxInFlight: 2, maxLagMs: 600_000, ...bounds });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let started = 0;
  app.get("/slow", async () => {
    started++;
    await released;
    return {};
  });
  app.get("/fast", async () => ({}));
  app.get("/health", async () => ({}));
  app.get("/ready", async () => ({}));
  onTestFinished(async () => {
    release();
    await app.close();
  });
  const statusOf = async (url: string) => (await app.inject({ url })).statusCode;
  const untilStarted = async (count: number) => {
    await expect.poll(() => started, { interval: 5 }).toBe(count);
  };
  return { app, release, statusOf, untilStarted };
};

test("above the bound a request is refused at once, and the next one is served when there is room", async () => {
  const { app, release, statusOf, untilStarted } = newApp();
  const slow = [statusOf("/slow"), statusOf("/slow")];
  await untilStarted(2);

  const refused = await app.inject({ url: "/fast" });
  expect(refused.statusCode).toBe(503);
  expect(refused.headers["retry-after"]).toBe("1");
  // With that header clients would not retry.
  expect(refused.headers).not.toHaveProperty("x-maintenance-mode");
  expect(refused.json()).toEqual({ errors: [{ reason: texts.overloaded().text }] });
  expect([await statusOf("/health"), await statusOf("/ready")]).toEqual([200, 200]);

  release();
  expect(await Promise.all(slow)).toEqual([200, 200]);
  expect(await statusOf("/fast")).toBe(200);
});

test("refusals and errors free their place", async () => {
  const { statusOf } = newApp();
  for (let n = 0; n < 10; n++) expect(await statusOf("/nothing")).toBe(404);

  expect(await statusOf("/fast")).toBe(200);
});

test("a hung-up caller's request counts as in flight while its work continues, but not for ever", async () => {
  const { app, statusOf, untilStarted } = newApp({ abandonedMs: 10_000 });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  for (let n = 0; n < 2; n++) {
    const call = send({ port, host: "127.0.0.1", path: "/slow" }).on("error", () => {});
    call.end();
    await untilStarted(n + 1);
    call.destroy();
    await new Promise((resolve) => call.once("close", resolve));
  }

  expect(await statusOf("/fast")).toBe(503);
  await expect.poll(() => statusOf("/fast")).toBe(200);
});

test("a process with a delayed event loop refuses requests until it has caught up", async () => {
  const { statusOf } = newApp({ maxLagMs: 100 });
  const until = performance.now() + 1500;
  while (performance.now() < until) {
    const block = performance.now() + 400;
    while (performance.now() < block);
    await sleep(0);
  }

  expect(await statusOf("/fast")).toBe(503);
  await expect.poll(() => statusOf("/fast")).toBe(200);
});
