import { chown, mkdir, statfs } from "node:fs/promises";
import type { Recipe, RecipeRequest } from "@moorage/contract/agent";
import { partBytes } from "../archive/manifest.ts";
import { encryptServer } from "../encryption/keyring.ts";
import { makeTemporary, temporaryMb } from "../encryption/temporary.ts";
import type { NodeContext } from "../node/node-context.ts";
import { makeVolume } from "../node/volume.ts";
import { applyLogs } from "./apply-logs.ts";
import type { RecipeSource } from "./fetch-object.ts";
import { startServer, waitUntilServerReady } from "./throw-away-server.ts";
import { unpackBase } from "./unpack-base.ts";
import { clearWorkplace, type Workplace } from "./workplace.ts";

export type RestoreDeps = {
  /** Requested from the gateway; fails while it is unreachable. */
  adminPassword: (node: string) => Promise<string>;
  /** How to build a node's desired data, or its newest restore point, from the object store. */
  recipeFor: (node: string, purpose: RecipeRequest["purpose"]) => Promise<Recipe>;
};

/** What restoring data from the archive needs. `progress` is that of the current step, from 0 to 1. */
export type MakeContext = NodeContext &
  RestoreDeps & {
    work: Workplace;
    source: RecipeSource;
    signal: AbortSignal;
    progress: (done: number) => void;
  };

/** Every try starts from scratch: nothing that an earlier try left is known to be complete. */
export async function beginAfresh({ podman, work, spec, host, source }: MakeContext): Promise<void> {
  await clearWorkplace(podman, work);
  await requireRoom(host.volumes, Math.min(spec.resources.disk_mb, likelyMb(await source.get())));
  // First, so that removeLeftovers finds the rest by this folder if the agent dies.
  await mkdir(work.folder, { recursive: true, mode: 0o711 });
  await makeVolume(work, spec.resources.disk_mb);
  if (!spec.database.encrypted) return;
  await makeTemporary(work.temporary, temporaryMb(spec.resources.disk_mb), spec.uid);
  await mkdir(work.keyring, { mode: 0o700 });
  await chown(work.keyring, spec.uid, spec.uid);
}

const mb = 1024 * 1024;
/** Stays free on the host's disk for its databases. */
const reserveMb = 1024;

/** An estimate: stored data are compressed. Larger data fill only their own volume, which has the plan's size. */
function likelyMb({ base, logs }: Recipe): number {
  const stored =
    (base.kind === "copy" ? base.parts.length * partBytes : 0) + logs.reduce((sum, log) => sum + log.bytes, 0);
  return 256 + Math.ceil((4 * stored) / mb);
}

async function requireRoom(folder: string, neededMb: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeMb = Math.floor((bavail * bsize) / mb);
  if (freeMb >= neededMb + reserveMb) return;
  throw new Error(
    `The host's disk has ${freeMb} MB free; the restore needs ${neededMb} MB and a reserve of ${reserveMb} MB.`,
  );
}

export const fetchBase = (context: MakeContext): Promise<void> =>
  unpackBase(context, context.work, context.source, context.signal, context.progress);

export async function replayLogs(context: MakeContext): Promise<void> {
  const { work, source, signal, progress, spec } = context;
  await startServer(context, work);
  await waitUntilServerReady(context, work, signal);
  // A copy is encrypted already; the prepared directory must be before the first row of a tenant is replayed.
  if (spec.database.encrypted) await encryptServer(work.socket);
  await applyLogs(context, work, source, signal, progress);
}
