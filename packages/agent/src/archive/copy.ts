import { createHash } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ArchivedCopy } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import type { Connection, RowDataPacket } from "mysql2/promise";
import type { Logger } from "pino";
import type { HostPaths } from "../base/host-paths.ts";
import { copyUnderWay, runAbortable, withRoot } from "../mysql/node-sql.ts";
import { runCommand } from "../base/run-command.ts";
import { usedDiskMb } from "../node/volume.ts";
import { type ArchivedNode, isOnItsTimeline, readArchiveState, updateArchiveState } from "./archived-node.ts";
import { clocksDifferMs, memberTime, serverTime, shifted, type TimeDeps } from "./archived-time.ts";
import { copyContents, type Manifest, manifestName } from "./manifest.ts";
import { makeScratch, removeScratch, type Scratch } from "./scratch.ts";
import { outputOf, sealTo } from "./sealed-output.ts";
import { termOf } from "./report-archived.ts";
import { createUpload, type UploadDeps, uploadParts } from "./upload.ts";

export const copySteps = ["begin", "scratch", "clone", "upload", "manifest", "clean", "record"].map(
  (name) => `agent.copy.${name}`,
);

export type CopyDeps = UploadDeps & TimeDeps & { host: HostPaths; clock: () => Date; log: Logger };
export type CopyOrder = { id: string; signal: AbortSignal; progress?: (percent: number) => void };

/** Scratch space beyond the current size of the data: for writes during the copy, and the file system's overhead. */
const growth = 1.25;
const leastMb = 512;
/** Reported progress once the clone is done. */
const clonedPercent = 20;

/** Makes and records one copy per id: see `unreported` in ArchiveState. */
export async function copyOnce(deps: CopyDeps, node: ArchivedNode, order: CopyOrder): Promise<void> {
  const { unreported, reported_copies } = await readArchiveState(node, deps.clock());
  if (
    reported_copies.includes(order.id) ||
    unreported.copies.some(({ id, term }) => id === order.id && term === termOf(node).term)
  )
    return;
  if (!(await isOnItsTimeline(node))) throw new Error("The server does not run on the desired timeline.");
  const made = await copyNode(deps, node, order);
  await step("agent.copy.record", () =>
    updateArchiveState(node, deps.clock(), (before) => ({
      newest_copy: made.ended_at,
      copying: before.copying === made.id ? undefined : before.copying,
      unreported: {
        ...before.unreported,
        copies: [...before.unreported.copies.filter(({ id }) => id !== made.id), { ...made, ...termOf(node) }],
      },
    })),
  );
}

/**
 * Uploads a base copy of a running server. All or nothing: the manifest is the last object, and an unreported copy does
 * not exist for the control plane. A retry under the same id overwrites the objects of the failed try.
 */
async function copyNode(deps: CopyDeps, node: ArchivedNode, order: CopyOrder): Promise<ArchivedCopy> {
  const { spec, paths } = node;
  const neededMb = Math.ceil(((await usedDiskMb(paths)) ?? spec.resources.disk_mb) * growth) + leastMb;
  let scratch: Scratch | undefined;
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    const result = await step(`agent.copy.${name}`, work);
    const ms = Math.round(performance.now() - started);
    deps.log.debug({ node: spec.node, table: "copy", step: name, ms }, "step");
    return result;
  };
  const upload = createUpload(deps, node, order.signal);
  try {
    const made = await timed("scratch", () =>
      makeScratch(deps.host, { node: spec.node, id: order.id, uid: spec.uid, neededMb }),
    );
    scratch = made;
    const cloned = await timed("clone", () => clone(deps, node, made, order));
    order.progress?.(clonedPercent);
    const parts = await timed("upload", () => uploadParts(sealedTar(node, made, order), order.id, upload));
    const manifest = Buffer.from(JSON.stringify(manifestOf(node, order.id, cloned, parts)));
    const body = { buffer: manifest, bytes: manifest.length, md5: md5Of(manifest) };
    await timed("manifest", () => upload.put(manifestName(order.id), body));
    return {
      id: order.id,
      ...cloned,
      bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
      parts: parts.length,
      manifest_sha256: createHash("sha256").update(manifest).digest("hex"),
    };
  } finally {
    await upload.close();
    const left = scratch;
    if (left !== undefined) await timed("clean", () => removeScratch(left));
  }
}

type Cloned = Pick<ArchivedCopy, "gtid" | "started_at" | "ended_at">;

const md5Of = (bytes: Buffer): string => createHash("md5").update(bytes).digest("base64");

function manifestOf({ spec, data }: ArchivedNode, id: string, cloned: Cloned, parts: Manifest["parts"]): Manifest {
  const { name, version } = spec.engine;
  return {
    version: 1,
    id,
    timeline: data.timeline,
    ...cloned,
    engine: { name, version },
    encrypted: spec.database.encrypted,
    parts,
  };
}

/** The server copies its own files without blocking: writes and DDL continue. */
async function clone(deps: TimeDeps, node: ArchivedNode, scratch: Scratch, { id, signal }: CopyOrder): Promise<Cloned> {
  const { paths, spec } = node;
  // Left by a try that failed after its clone was done. CLONE requires that the folder does not exist.
  await runCommand("rm", ["-rf", join(scratch.folder, copyContents.data)]);
  return withRoot(paths.socket, async (connection) => {
    try {
      const started =
        spec.cluster === undefined ? await serverTime(connection) : await memberTime(deps, node, connection);
      const gtid = await executedGtids(connection);
      await runAbortable(paths.socket, connection, signal, () =>
        cloneWhenFree(connection, `/scratch/${id}/${copyContents.data}`, signal),
      );
      const ended = await serverTime(connection, "after");
      // A member's transactions carry the commit times of another host's clock.
      const leeway = spec.cluster === undefined ? 0 : clocksDifferMs;
      return { gtid, started_at: shifted(started, -leeway), ended_at: shifted(ended, leeway) };
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`The server of ${spec.node} could not clone its data: ${(error as Error).message}`, {
        cause: error,
      });
    }
  });
}

const retryMs = 1000;

/** Another member may be cloning from this server; the server runs one clone at a time. */
async function cloneWhenFree(connection: Connection, folder: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await connection.query("CLONE LOCAL DATA DIRECTORY = ?", [folder]);
      return;
    } catch (error) {
      if ((error as { errno?: number }).errno !== copyUnderWay) throw error;
      await sleep(retryMs, undefined, { signal });
    }
  }
}

async function executedGtids(connection: Connection): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>("SELECT @@GLOBAL.gtid_executed AS gtids");
  return String(rows[0]?.["gtids"]).replaceAll(/\s/g, "");
}

const checkpointRecords = 1600;
const checkpointBytes = checkpointRecords * 10_240;

/** The keyring goes last, so that it has every key that the data were written with. */
async function* sealedTar({ spec, archive, paths }: ArchivedNode, scratch: Scratch, order: CopyOrder) {
  const total = Number((await runCommand("du", ["--summarize", "--bytes", scratch.folder])).split("\t")[0]);
  const onLine = (line: string): boolean => {
    const checkpoint = /^tar: Write checkpoint (\d+)$/.exec(line)?.[1];
    if (checkpoint === undefined) return false;
    const share = Math.min(1, ((Number(checkpoint) / checkpointRecords) * checkpointBytes) / total);
    order.progress?.(clonedPercent + Math.floor(share * (99 - clonedPercent)));
    return true;
  };
  const keyring = spec.database.encrypted ? `-C "$4" ${copyContents.keyring}` : "";
  const files = `-C "$2" ${copyContents.data} -C "$3" ${copyContents.fixedConfig} ${keyring}`;
  const script = `nice tar --create --numeric-owner --checkpoint=${checkpointRecords} ${files} | ${sealTo('"$1"')}`;
  yield* outputOf(script, [archive.recipient, scratch.folder, paths.volume, paths.keyring], {
    signal: order.signal,
    onLine,
  });
}
