import { release } from "@moorage/contract/process";
import { step } from "@moorage/crash-points";
import type { Context } from "@temporalio/activity";
import { type ActivityInterceptorsFactory, DefaultLogger, Runtime, type Worker } from "@temporalio/worker";
import type { FastifyInstance } from "fastify";
import type { Log } from "#platform/log.ts";

const POLL_MS = 500;

/** Before anything else of Temporal's is made. */
export const passLogs = (log: Log): Runtime =>
  Runtime.install({
    logger: new DefaultLogger("WARN", ({ message, meta: { error, ...meta } = {} }) =>
      log.warn({ ...meta, err: error }, message),
    ),
  });

/** The process is healthy while workflows run. */
export const workerHealth = (server: FastifyInstance, current: () => Worker | undefined): void =>
  void server.get("/health", async (_request, reply) =>
    current()?.getState() === "RUNNING"
      ? { status: "ok", ...release }
      : reply.status(503).send({ status: "waiting for Temporal", ...release }),
  );

/**
 * Runs until the worker is shut down, and throws when it has failed, so that the process ends and is restarted. `run()`
 * alone does not suffice: a worker whose namespace is gone fails, and can then wait for ever for its own pollers to
 * end.
 */
export async function runWorker(worker: Worker): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    timer = setInterval(() => {
      if (worker.getState() === "FAILED") reject(new Error("Temporal's worker failed"));
    }, POLL_MS);
  });
  try {
    await Promise.race([worker.run(), failed]);
  } finally {
    clearInterval(timer);
  }
}

/** Every activity is a step under its name, so that a test can kill it, repeat it or report a wrong outcome. */
export const activitySteps: ActivityInterceptorsFactory = (context: Context) => ({
  inbound: { execute: (input, next) => step(activityStep(context.info.activityType), () => next(input)) },
});

export const activityStep = (name: string): string => `worker.${name}`;
