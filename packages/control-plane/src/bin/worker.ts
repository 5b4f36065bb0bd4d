import { announceReady } from "@moorage/contract/process";
import { announceSteps } from "@moorage/crash-points";
import { Worker } from "@temporalio/worker";
import { addReplacementsGauge } from "#databases/index.ts";
import { derivationSecret } from "#fleet/index.ts";
import { requireImporter } from "#images/index.ts";
import { relaySteps, startRelay } from "#operations/relay.ts";
import { startSweeper } from "#operations/sweeper.ts";
import { TASK_QUEUE } from "#operations/workflow-id.ts";
import { readConfig } from "#platform/config.ts";
import { createEachDue } from "#platform/each-due.ts";
import { createServer } from "#platform/http/server.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { serveMetrics } from "#platform/telemetry/metrics.ts";
import { addStuckGauge } from "#platform/telemetry/stuck-gauge.ts";
import { countStarts } from "#platform/telemetry/workflow-starts.ts";
import { workflowBundle } from "#platform/temporal/bundle.ts";
import { connectClient, connectWorker, ensureNamespace, temporalServerOf } from "#platform/temporal/connection.ts";
import { activityStep, activitySteps, passLogs, runWorker, workerHealth } from "#platform/temporal/run-worker.ts";
import { activitiesOf, type WorkerPart } from "#platform/worker-part.ts";
import { composeMail } from "../compose-mail.ts";
import { composeStores } from "../compose-stores.ts";
import { composeWorkerParts } from "../compose-worker.ts";
import { composeBase, composeSealer, composeTelemetry, jobTimeouts } from "../compose.ts";
import { processSettings } from "../process-settings.ts";

const config = readConfig(processSettings.worker);
const base = composeBase("worker", config, jobTimeouts(config));
const { log } = base;
const { metrics, tracing } = await composeTelemetry("worker", config, base);
passLogs(log);
await requireImporter();
const temporal = countStarts(metrics.registry, await connectClient(temporalServerOf(config)));
const sealer = composeSealer(config);
await derivationSecret(base.db, sealer);

const { eachDue, stuck } = createEachDue(base);
addStuckGauge(metrics.registry, stuck);
addReplacementsGauge(metrics.registry, { ...base, silentHostsPercent: config.MOORAGE_SILENT_HOSTS_PERCENT });
const stores = composeStores(config, { log, registry: metrics.registry });
const parts = composeWorkerParts(config, { ...base, ...stores, temporal, sealer, eachDue });
const all: readonly WorkerPart[] = Object.values(parts);
const activities = activitiesOf(parts);
announceSteps("worker", [
  ...Object.keys(activities).map(activityStep),
  ...Object.keys(relaySteps),
  ...all.flatMap(({ steps = [] }) => steps),
]);

let worker: Worker | undefined;
const server = createServer(log);
workerHealth(server, () => worker);
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

// Without Temporal it still does the work that needs none; `/health` says which of the two it is.
await announceReady(log);
const connection = await connectWorker(temporalServerOf(config), () => isOpen);
await ensureNamespace(temporal, config.TEMPORAL_NAMESPACE);
worker = await Worker.create({
  connection,
  namespace: config.TEMPORAL_NAMESPACE,
  taskQueue: TASK_QUEUE,
  workflowBundle: await workflowBundle(config.MOORAGE_WORKFLOW_BUNDLE),
  activities,
  stickyQueueScheduleToStartTimeout: "3 seconds",
  interceptors: { activity: tracing === undefined ? [activitySteps] : [tracing.activities, activitySteps] },
});
await runWorker(worker);
await connection.close();
await base.close();
