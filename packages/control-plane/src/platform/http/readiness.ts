import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

export type ReadinessDeps = {
  /** Rejects when something is missing that nearly every request needs. */
  check: () => Promise<unknown>;
  checkMs?: number;
  /** Between saying so and not being there, so that a balancer can look elsewhere first. */
  noticeMs?: number;
  /** What is not done by then is cut. */
  drainMs: number;
};

/** `/health`: the process runs. `/ready`: send it work. Closing the server then drops no request. */
export function readiness(app: FastifyInstance, { check, checkMs = 1000, noticeMs = 0, drainMs }: ReadinessDeps): void {
  let draining = false;
  let cut: NodeJS.Timeout | undefined;

  app.get("/health", async () => ({ status: "ok" }));
  app.get("/ready", async (_request, reply) => {
    if (draining) return reply.status(503).header("retry-after", 1).send({ status: "draining" });
    try {
      await within(checkMs, check());
      return { status: "ready" };
    } catch {
      return reply.status(503).header("retry-after", 1).send({ status: "waiting for the database" });
    }
  });
  app.addHook("onSend", async (_request, reply, payload) => {
    if (draining) reply.header("connection", "close");
    return payload;
  });

  // Until this hook has ended the server goes on accepting; after it, Fastify waits for what is under way.
  app.addHook("preClose", async () => {
    draining = true;
    await sleep(noticeMs);
    cut = setTimeout(() => app.server.closeAllConnections(), drainMs);
  });
  app.addHook("onClose", async () => clearTimeout(cut));
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("no answer in time")), ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
