import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { partsDir, removeFolder } from "./folders.ts";
import { freePort } from "./free-port.ts";

/** For a server that a busy machine holds up. */
const PATIENCE_MS = 180_000;

/** Files in PEM. Clients must have a certificate of the authority. */
type Tls = { ca: string; certificate: string; key: string };

/** A real Temporal server that keeps everything in memory. */
export async function startTemporalServer(tls?: Tls) {
  const folder = mkdtempSync(join(tmpdir(), "moorage-temporal-"));
  const config = join(folder, "config.yaml");
  // A concurrent test may have taken one of its eight ports: then it ends at once.
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    writeFileSync(config, JSON.stringify(await configOf(port, tls)));
    const program = join(partsDir, "bin/temporal-server");
    const server = spawn(program, ["--config-file", config, "--allow-no-auth", "start"], { stdio: "ignore" });
    const ended = once(server, "exit");
    if ((await Promise.race([ended, untilListening(port)])) === "listening")
      return {
        address: `127.0.0.1:${port}`,
        async [Symbol.asyncDispose]() {
          server.kill("SIGKILL");
          await ended;
          removeFolder(folder);
        },
      };
    server.kill("SIGKILL");
    if (tries === 5) throw new Error("Temporal does not start.");
  }
}

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

function tlsOf({ ca, certificate, key }: Tls): object {
  const own = { certFile: certificate, keyFile: key };
  const client = { serverName: "localhost", rootCaFiles: [ca] };
  return {
    frontend: { server: { ...own, requireClientAuth: true, clientCaFiles: [ca] }, client },
    systemWorker: { ...own, client },
  };
}

async function configOf(port: number, tls: Tls | undefined): Promise<object> {
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
    global: {
      ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
      membership: { maxJoinDuration: "30s", broadcastAddress: "127.0.0.1" },
    },
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
