import { chown, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import type { ContainerCreateOptions } from "dockerode";
import { writeDurably } from "../base/durable-file.ts";
import { keyringBinds } from "../encryption/keyring.ts";
import { temporaryBind } from "../encryption/temporary.ts";
import { configFile } from "../provision/config-file.ts";
import { answers } from "../mysql/node-sql.ts";
import type { NodeContext } from "../node/node-context.ts";
import { ownFolder } from "../node/mounts.ts";
import { imageName, isThere, settled } from "../node/podman.ts";
import { lastError } from "../provision/provision-steps.ts";
import type { Workplace } from "./workplace.ts";

/** The server did not start on the data, or did not shut down cleanly. */
export class ServerFailed extends Error {
  override readonly name = "ServerFailed";
}

const memoryMb = 1024;

/**
 * Differences from the server that will run on these data: nobody can reach it, it runs no events or replication, and
 * it trades crash safety for speed, because a crash starts the restore again. `[mysqld]` again, because the last line
 * of a setting counts.
 */
const overrides = `
[mysqld]
socket = /run/mysqld/sql.sock
pid_file = /run/mysqld/sql.pid
skip_networking = ON
skip_log_bin
event_scheduler = OFF
skip_replica_start = ON
performance_schema = OFF
innodb_buffer_pool_size = 128M
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = OFF
max_allowed_packet = 1G
max_connections = 20
super_read_only = OFF
`;

/** Replaces an existing container: it holds nothing that is not on its volume. */
export async function startServer({ podman, host, spec }: NodeContext, work: Workplace): Promise<void> {
  const { tls: _tls, cluster: _cluster, ...plain } = spec;
  await mkdir(work.run, { recursive: true });
  await chown(work.run, spec.uid, spec.uid);
  await mkdir(dirname(work.replay), { recursive: true, mode: 0o700 });
  await writeDurably(work.config, configFile(await readFile(work.fixedConfig, "utf8"), plain) + overrides, 0o644);
  const container = podman.client.getContainer(work.container);
  await settled(container.remove({ force: true }));
  const limits = Object.entries(podman.limits).map(([Name, limit]) => ({ Name, Soft: limit, Hard: limit }));
  const keys = spec.database.encrypted ? [...keyringBinds(host, work), temporaryBind(work.temporary)] : [];
  await podman.client.createContainer(containerOptions(spec, work, host.seccomp, limits, keys));
  await container.start();
}

const containerOptions = (
  spec: NodeSpec,
  work: Workplace,
  seccomp: string,
  Ulimits: { Name: string; Soft: number; Hard: number }[],
  keys: string[],
): ContainerCreateOptions => ({
  name: work.container,
  Image: imageName(spec.engine.name, spec.engine.image),
  Entrypoint: ["/usr/sbin/mysqld"],
  Cmd: ["--defaults-file=/etc/mysql/my.cnf"],
  Env: ["TZ=UTC"],
  User: `${spec.uid}:${spec.uid}`,
  StopSignal: "SIGTERM",
  HostConfig: {
    NetworkMode: "none",
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", `seccomp=${seccomp}`],
    Memory: memoryMb * 1024 * 1024,
    PidsLimit: 500,
    Ulimits,
    Tmpfs: { "/tmp": "rw,nosuid,nodev,noexec,size=16m,mode=1777" },
    Binds: [
      `${work.volume}:/volume:rw`,
      `${work.run}:/run/mysqld:${ownFolder}`,
      `${dirname(work.replay)}:/replay:ro`,
      `${work.config}:/etc/mysql/my.cnf:ro`,
      ...keys,
    ],
    LogConfig: { Type: "k8s-file", Config: { "max-size": "10mb" } },
    RestartPolicy: { Name: "no" },
  },
});

const readyWithinMs = 600_000;

/** The limit is long because a base copy of a busy server starts with crash recovery. */
export async function waitUntilServerReady(
  { podman }: NodeContext,
  work: Workplace,
  signal: AbortSignal,
): Promise<void> {
  const container = podman.client.getContainer(work.container);
  const started = performance.now();
  for (let tries = 1; !(await answers(work.socket)); tries++) {
    signal.throwIfAborted();
    if (performance.now() - started > readyWithinMs)
      throw new ServerFailed("The server on the new data does not answer.");
    if (tries % 25 === 0) {
      const found = await isThere(container.inspect());
      if (!found?.State.Running)
        throw new ServerFailed(`The server on the new data ended while starting: ${await lastError(found?.LogPath)}`);
    }
    await sleep(20);
  }
}

/** Throws unless the shutdown was clean: the data were written without crash safety. */
export async function stopServer({ podman }: NodeContext, work: Workplace): Promise<void> {
  const container = podman.client.getContainer(work.container);
  const found = await isThere(container.inspect());
  if (found === undefined) return;
  await settled(container.stop({ t: 600 }));
  const { State, LogPath } = await container.inspect();
  if (State.ExitCode !== 0)
    throw new ServerFailed(`The server on the new data ended with ${State.ExitCode}: ${await lastError(LogPath)}`);
  await settled(container.remove({ force: true }));
}
