import { setTimeout as sleep } from "node:timers/promises";
import type { ArchivedLog } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import type { Connection } from "mysql2/promise";
import type { HostPaths } from "../base/host-paths.ts";
import { withRoot } from "../mysql/node-sql.ts";
import type { Podman } from "../node/podman.ts";
import { type ArchivedNode, isOnItsTimeline, readArchiveState, updateArchiveState } from "./archived-node.ts";
import { activeLog, type ClosedLog, closedLogs, type OldLog, purgeLogs } from "./binary-logs.ts";
import { serverTime, type TimeDeps } from "./archived-time.ts";
import { removeSealedLog, type SealedLog, sealLog } from "./log-text.ts";
import { logName } from "./manifest.ts";
import { reportArchived, type ReportArchivedDeps, termOf } from "./report-archived.ts";
import { createUpload, type Upload, type UploadDeps } from "./upload.ts";

export const shipSteps = ["close", "upload", "record", "purge"].map((name) => `agent.ship.${name}`);

export type ShipDeps = UploadDeps &
  ReportArchivedDeps &
  TimeDeps & { host: HostPaths; podman: Podman; clock: () => Date };

const keptMs = 6 * 3_600_000;

/**
 * Ships everything committed until now: closes the active log unless it is empty, uploads every closed log that is not
 * in the store yet, in order, and reports to the gateway.
 */
export async function shipLogs(
  deps: ShipDeps,
  node: ArchivedNode,
  signal: AbortSignal,
  requested = false,
): Promise<void> {
  if (!(await isOnItsTimeline(node))) throw new Error("The server does not run on the desired timeline.");
  const { logs, through } = await withRoot(node.paths.socket, async (connection) => {
    const { shipped } = await readArchiveState(node, deps.clock());
    // Queried before the active log is closed, so that everything committed until then is in a closed log.
    const committed = await serverTime(connection);
    await step("agent.ship.close", () => closeActive(connection));
    return { logs: await closedLogs(connection, node.paths, shipped), through: committed };
  });
  const upload = createUpload(deps, node, signal);
  try {
    for (const log of logs) await ship(deps, node, log, upload, signal);
  } finally {
    await upload.close();
  }
  await reportArchived(deps, node, { at: through, requested }, signal);
}

export async function closeActive(connection: Connection): Promise<void> {
  if ((await activeLog(connection)).isEmpty) return;
  await awayFromTheSecond();
  await connection.query("FLUSH BINARY LOGS");
}

/** Restores go to a whole second, and `closed_at` is off by some milliseconds: never close a log near one. */
async function awayFromTheSecond(): Promise<void> {
  const ms = Date.now() % 1000;
  if (ms < 50 || ms > 900) await sleep((1050 - ms) % 1000);
}

async function ship(
  deps: ShipDeps,
  node: ArchivedNode,
  log: ClosedLog,
  upload: Upload,
  signal: AbortSignal,
): Promise<void> {
  const stored = await step("agent.ship.upload", async (): Promise<ArchivedLog> => {
    const sealed = await sealLog(deps, node, log.name, signal);
    await uploadSealed(upload, log.name, sealed);
    return { ...log, bytes: sealed.bytes, sha256: sealed.sha256 };
  });
  await recordShipped(deps, node, stored);
}

export async function uploadSealed(upload: Upload, name: string, sealed: SealedLog): Promise<void> {
  try {
    await upload.put(logName(name), sealed);
  } finally {
    await removeSealedLog(sealed);
  }
}

/** Recorded before it is reported: see `unreported` in ArchiveState. */
export const recordShipped = (deps: ShipDeps, node: ArchivedNode, stored: ArchivedLog): Promise<void> =>
  step("agent.ship.record", () =>
    updateArchiveState(node, deps.clock(), ({ unreported, shipped }) => ({
      shipped: Math.max(shipped, stored.sequence),
      unreported: {
        ...unreported,
        logs: [...unreported.logs.filter(({ name }) => name !== stored.name), { ...stored, ...termOf(node) }],
      },
    })),
  );

/** Purges only logs that the gateway acknowledged. `all`: also the newest ones, because the disk space is needed. */
export async function purgeShipped(deps: ShipDeps, node: ArchivedNode, all: boolean): Promise<string[]> {
  if (!(await isOnItsTimeline(node))) return [];
  const { shipped, unreported } = await readArchiveState(node, deps.clock());
  const last = Math.min(shipped, ...unreported.logs.map(({ sequence }) => sequence - 1));
  const mayGo = async ({ number }: OldLog): Promise<boolean> => number <= last;
  return step("agent.ship.purge", () =>
    withRoot(node.paths.socket, (connection) =>
      purgeLogs(connection, node.paths, { mayGo, until: purgedUntil(deps, all) }),
    ),
  );
}

export const purgedUntil = ({ clock }: Pick<ShipDeps, "clock">, all: boolean): Date =>
  new Date(clock().getTime() - (all ? 0 : keptMs));
