import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { startTemporalServer } from "@moorage/testkit/temporal-server.ts";
import type { Client } from "@temporalio/client";
import { DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import { createFleetActivities } from "#fleet/index.ts";
import { startRelay } from "#operations/relay.ts";
import { TASK_QUEUE } from "#operations/workflow-id.ts";
import { createLog } from "#platform/log.ts";
import { bundleWorkflows } from "#platform/temporal/bundle.ts";
import { connectClient, ensureNamespace } from "#platform/temporal/connection.ts";
import { keepHistories } from "./keep-histories.ts";
import type { World } from "./world.ts";

/** For a server that a busy machine holds up. */
const PATIENCE_MS = 180_000;

let prepared: ReturnType<typeof bundleWorkflows> | undefined;

/** Once for all test files of a process: the runtime can be installed only once, and bundling takes seconds. */
export function workflowsForTests(): ReturnType<typeof bundleWorkflows> {
  if (prepared === undefined) Runtime.install({ logger: new DefaultLogger("ERROR") });
  return (prepared ??= bundleWorkflows());
}

/** A Temporal server, and the workflows for its workers. */
export async function startTemporal() {
  const workflowBundle = await workflowsForTests();
  return { ...(await startTemporalServer()), workflowBundle };
}
export type Temporal = Awaited<ReturnType<typeof startTemporal>>;

/**
 * The parts of a worker process on a world's database: relay and workflows, with more activities than the world's. In
 * its own namespace, because every world counts its operations from the same number; a restarted worker uses the
 * namespace of the previous one.
 */
export async function startWorker(
  world: World,
  { address, workflowBundle }: Temporal,
  more: object,
  namespace: string = randomUUID(),
) {
  const temporal = await connectClient({ address, namespace });
  await untilKnown(temporal);
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle,
    activities: { ...world.activities, ...createFleetActivities({ db: world.db }), ...more },
  });
  const running = worker.run();
  const { db, databaseUrl, clock } = world;
  const relay = startRelay({ db, databaseUrl, clock, temporal, log: createLog("test", "silent") });
  return {
    client: temporal,
    namespace,
    async [Symbol.asyncDispose]() {
      await relay.close();
      // For a workflow that no installation has run yet: MOORAGE_HISTORIES=record with the tests that run it.
      if (process.env["MOORAGE_HISTORIES"] === "record") await keepHistories(db, temporal, "missing");
      worker.shutdown();
      await running;
      await Promise.all([connection.close(), temporal.connection.close()]);
    },
  };
}

/** The server may be starting, and a new namespace takes a moment to be known everywhere in it. */
async function untilKnown(temporal: Client): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      await ensureNamespace(temporal, temporal.options.namespace);
      await temporal.workflow.count();
      return;
    } catch (error) {
      if (Date.now() >= until) throw new Error("Temporal does not answer.", { cause: error });
      await sleep(200);
    }
  }
}
