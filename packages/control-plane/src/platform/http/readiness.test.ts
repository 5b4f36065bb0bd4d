import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { readiness, type ReadinessDeps } from "./readiness.ts";
import { createServer } from "./server.ts";

type Answer = { status: number | undefined; connection: string | undefined };

async function newApp(deps: Partial<ReadinessDeps> = {}) {
  const app = createServer(createLog("test", "silent"));
  readiness(app, { check: async () => {}, drainMs: 5000, ...deps });
  app.get("/wait/:ms", async (request) => {
    await sleep(Number((request.params as { ms: string }).ms));
    return {};
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  const agent = new Agent({ keepAlive: true });
  onTestFinished(async () => {
    agent.destroy();
    await app.close();
  });
  const fetchFrom = (path: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      get({ port, host: "127.0.0.1", path, agent }, (reply) => {
        reply.resume();
        resolve({ status: reply.statusCode, connection: reply.headers.connection });
      }).on("error", reject);
    });
  return { app, fetchFrom };
}

test("ready while the database answers; healthy always", async () => {
  let failure: Error | undefined;
  const { fetchFrom } = await newApp({
    check: async () => {
      if (failure !== undefined) throw failure;
    },
  });

  expect((await fetchFrom("/ready")).status).toBe(200);
  failure = new Error("gone");
  expect((await fetchFrom("/ready")).status).toBe(503);
  expect((await fetchFrom("/health")).status).toBe(200);
});

test("a database that hangs is not ready either", async () => {
  const { fetchFrom } = await newApp({ check: () => new Promise(() => {}), checkMs: 50 });

  expect((await fetchFrom("/ready")).status).toBe(503);
});

test("draining: told first, what is under way is finished with its connection closed, then nobody is let in", async () => {
  const { app, fetchFrom } = await newApp({ noticeMs: 300 });
  const before = fetchFrom("/wait/700");
  await sleep(50);
  const drained = app.close();

  expect(await fetchFrom("/ready")).toEqual({ status: 503, connection: "close" });
  expect((await fetchFrom("/wait/0")).status).toBe(200);
  await sleep(350);
  await expect(fetchFrom("/wait/0")).rejects.toThrow("ECONNREFUSED");
  expect(await before).toEqual({ status: 200, connection: "close" });
  await drained;
});

test("what takes too long is cut", async () => {
  const { app, fetchFrom } = await newApp({ drainMs: 100 });
  const hanging = fetchFrom("/wait/1500").then(
    () => "answered",
    () => "cut",
  );
  await sleep(50);
  const began = performance.now();

  await app.close();

  expect(performance.now() - began).toBeLessThan(1000);
  expect(await hanging).toBe("cut");
});
