import { announceSteps } from "@moorage/crash-points";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { requireImporter } from "#images/index.ts";
import { relaySteps, startRelay } from "#operations/relay.ts";
import { startSweeper } from "#operations/sweeper.ts";
import { TASK_QUEUE } from "#operations/workflow-id.ts";
import { readConfig } from "#platform/config.ts";
import { createServer } from "#platform/http/server.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { serveMetrics } from "#platform/telemetry/metrics.ts";
import { countStarts } from "#platform/telemetry/workflow-starts.ts";
import { activityStep, activitySteps } from "#platform/temporal/activity-steps.ts";
import { bundleWorkflows } from "#platform/temporal/bundle.ts";
import { connectClient, connectWorker } from "#platform/temporal/connect.ts";
import { ensureNamespace } from "#platform/temporal/namespace.ts";
import { runWorker } from "#platform/temporal/run-worker.ts";
import { activitiesOf, type WorkerPart } from "#platform/worker-part.ts";
import { composeBase, composeSealer, composeTelemetry } from "../compose.ts";
import { composeMail } from "../compose-mail.ts";
import { composeWorkerParts } from "../compose-worker.ts";

const config = readConfig();
const base = composeBase("worker", config);
const { log, db } = base;
const { metrics, tracing } = await composeTelemetry("worker", config, base);
Runtime.install({
  logger: new DefaultLogger("WARN", ({ message, meta: { error, ...meta } = {} }) =>
    log.warn({ ...meta, err: error }, message),
  ),
});
await requireImporter();
const temporal = countStarts(metrics.registry, await connectClient(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE));
const sealer = composeSealer(config);

const parts = composeWorkerParts(config, { ...base, temporal, sealer });
const all: readonly WorkerPart[] = Object.values(parts);
const activities = activitiesOf(parts);
announceSteps("worker", [
  ...Object.keys(activities).map(activityStep),
  ...Object.keys(relaySteps),
  ...all.flatMap(({ steps = [] }) => steps),
]);

let worker: Worker | undefined;
const server = createServer(log);
server.get("/health", async (_request, reply) =>
  worker?.getState() === "RUNNING" ? { status: "ok" } : reply.status(503).send({ status: "waiting for Temporal" }),
);
serveMetrics(server, metrics);
// These do not need Temporal: they continue while it is down, and reconnect when it is back.
const running = [
  startRelay({ ...base, databaseUrl: config.DATABASE_URL, temporal }),
  startSweeper({ ...base, temporal, parts: all, everySeconds: config.MOORAGE_SWEEP_SECONDS }),
  ...all.flatMap(({ start }) => start?.(server) ?? []),
  ...composeMail(config, { ...base, sealer, registry: metrics.registry }),
];
await server.listen(config.MOORAGE_WORKER_LISTEN);

let isOpen = true;
onShutdown(log, async () => {
  isOpen = false;
  await Promise.all([server.close(), ...running.map((each) => each.close())]);
  // The signal may have reached Temporal's runtime first.
  if (worker?.getState() === "RUNNING") worker.shutdown();
  await tracing?.close();
});

const bundle = config.MOORAGE_WORKFLOW_BUNDLE;
const workflowBundle = bundle === undefined ? await bundleWorkflows() : { codePath: bundle };
const connection = await connectWorker(config.TEMPORAL_ADDRESS, () => isOpen);
await ensureNamespace(temporal, config.TEMPORAL_NAMESPACE);
worker = await Worker.create({
  connection,
  namespace: config.TEMPORAL_NAMESPACE,
  taskQueue: TASK_QUEUE,
  workflowBundle,
  activities,
  stickyQueueScheduleToStartTimeout: "3 seconds",
  interceptors: { activity: tracing === undefined ? [activitySteps] : [tracing.activities, activitySteps] },
});
await runWorker(worker);
await connection.close();
await db.destroy();
