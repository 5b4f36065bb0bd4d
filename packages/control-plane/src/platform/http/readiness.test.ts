import { Agent, get } from "node:http";
import { release as running } from "@moorage/contract/process";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { readiness, type ReadinessDeps } from "./readiness.ts";
import { createServer } from "./server.ts";

type Answer = { status: number | undefined; connection: string | undefined };

async function newApp(deps: Partial<ReadinessDeps> = {}) {
  const app = createServer(createLog("test", "silent"));
  readiness(app, { check: async () => {}, drainMs: 5000, ...deps });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  app.get("/held", async () => {
    hold();
    await released;
    return {};
  });
  app.get("/quick", async () => ({}));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  const agent = new Agent({ keepAlive: true });
  onTestFinished(async () => {
    release();
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
  /** A request that is in progress until `release` is called. */
  const startHeld = async () => {
    const answer = fetchFrom("/held");
    await held;
    return { answer };
  };
  return { app, fetchFrom, startHeld, release };
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

test("the health of a process names its version and commit", async () => {
  const { app } = await newApp();
  const answer = await app.inject("/health");

  expect(answer.json()).toEqual({ status: "ok", ...running });
  expect(running.version).toMatch(/^\d+\.\d+\.\d+/);
});

test("a process whose database hangs is not ready", async () => {
  const { fetchFrom } = await newApp({ check: () => new Promise(() => {}), checkMs: 50 });

  expect((await fetchFrom("/ready")).status).toBe(503);
});

test("shutdown reports not ready, finishes requests in progress, then accepts no connection", async () => {
  // Longer than the 10 s that Fastify grants a hook by default.
  const { app, fetchFrom, startHeld, release } = await newApp({ noticeMs: 10_500, drainMs: 180_000 });
  const before = await startHeld();
  const drained = app.close();

  expect(await fetchFrom("/ready")).toEqual({ status: 503, connection: "close" });
  expect((await fetchFrom("/quick")).status).toBe(200);
  const refusal = () => fetchFrom("/quick").then(String, String);
  await expect.poll(refusal).toContain("ECONNREFUSED");
  release();
  expect(await before.answer).toEqual({ status: 200, connection: "close" });
  await drained;
});

test("a request that exceeds the drain time is cut", async () => {
  const { app, startHeld } = await newApp({ drainMs: 100 });
  const { answer } = await startHeld();
  const hanging = answer.then(
    () => "answered",
    () => "cut",
  );

  await app.close();

  expect(await hanging).toBe("cut");
});
