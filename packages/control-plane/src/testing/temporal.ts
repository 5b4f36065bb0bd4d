import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@temporalio/client";
import { DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import { createFleetActivities } from "#fleet/index.ts";
import { startRelay } from "#operations/relay.ts";
import { TASK_QUEUE } from "#operations/workflow-id.ts";
import { createLog } from "#platform/log.ts";
import { bundleWorkflows } from "#platform/temporal/bundle.ts";
import { connectClient } from "#platform/temporal/connect.ts";
import { ensureNamespace } from "#platform/temporal/namespace.ts";
import { freePort } from "./free-port.ts";
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

/** A real Temporal server that keeps everything in memory. */
export async function startTemporal() {
  const parts =
    process.env["MOORAGE_PARTS"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage-parts");
  const workflowBundle = await workflowsForTests();
  const folder = mkdtempSync(join(tmpdir(), "moorage-temporal-"));
  const config = join(folder, "config.yaml");
  // A concurrent test may have taken one of its eight ports: then it ends at once.
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    writeFileSync(config, JSON.stringify(await configOf(port)));
    const program = join(parts, "bin/temporal-server");
    const server = spawn(program, ["--config-file", config, "--allow-no-auth", "start"], { stdio: "ignore" });
    const ended = once(server, "exit");
    if ((await Promise.race([ended, untilListening(port)])) === "listening")
      return {
        address: `127.0.0.1:${port}`,
        workflowBundle,
        async [Symbol.asyncDispose]() {
          server.kill("SIGKILL");
          await ended;
          rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
        },
      };
    server.kill("SIGKILL");
    if (tries === 5) throw new Error("Temporal does not start.");
  }
}
export type Temporal = Awaited<ReturnType<typeof startTemporal>>;

async function untilListening(port: number): Promise<"listening" | "silent"> {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return "listening";
    await sleep(100);
  }
  return "silent";
}

async function configOf(port: number): Promise<object> {
  const inMemory = (databaseName: string): object => ({
    sql: {
      pluginName: "sqlite",
      databaseName,
      connectAddr: "localhost",
      connectProtocol: "tcp",
      connectAttributes: { mode: "memory", cache: "private" },
      maxConns: 1,
      maxIdleConns: 1,
      maxConnLifetime: "1h",
    },
  });
  const service = async (grpcPort?: number): Promise<object> => ({
    rpc: { grpcPort: grpcPort ?? (await freePort()), membershipPort: await freePort(), bindOnIP: "127.0.0.1" },
  });
  const only = { enabled: true, initialFailoverVersion: 1, rpcName: "frontend", rpcAddress: `127.0.0.1:${port}` };
  return {
    log: { stdout: true, level: "error" },
    persistence: {
      defaultStore: "main",
      visibilityStore: "visibility",
      numHistoryShards: 1,
      datastores: { main: inMemory("main"), visibility: inMemory("visibility") },
    },
    global: { membership: { maxJoinDuration: "30s", broadcastAddress: "127.0.0.1" } },
    services: {
      frontend: await service(port),
      history: await service(),
      matching: await service(),
      worker: await service(),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: "active",
      currentClusterName: "active",
      clusterInformation: { active: only },
    },
    dcRedirectionPolicy: { policy: "noop" },
  };
}

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
  const temporal = await connectClient(address, namespace);
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
