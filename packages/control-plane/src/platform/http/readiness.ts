import { setTimeout as sleep } from "node:timers/promises";
import { release } from "@moorage/contract/process";
import type { FastifyInstance } from "fastify";

export type ReadinessDeps = {
  /** Rejects when something is missing that nearly every request needs. */
  check: () => Promise<unknown>;
  checkMs?: number;
  /** Time between reporting not ready and closing, so that a load balancer can switch first. */
  noticeMs?: number;
  /** Requests that take longer are cut. */
  drainMs: number;
};

/** `/health`: the process runs. `/ready`: it accepts work. Closing the server then drops no request. */
export function readiness(app: FastifyInstance, { check, checkMs = 1000, noticeMs = 0, drainMs }: ReadinessDeps): void {
  let draining = false;
  let cut: NodeJS.Timeout | undefined;

  app.get("/health", async () => ({ status: "ok", ...release }));
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

  // The server accepts requests until this hook has ended; then Fastify waits for those in progress.
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
