import { chown, lchown, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { baselineStep } from "./baseline-steps.ts";
import { fenceDeadPrimary } from "../replication/following/fence.ts";
import { nameServer } from "../replication/following/server-name.ts";
import {
  agreeOnCredentials,
  isReset,
  memberSteps,
  recloneIfLost,
  startsClosed,
  stopServer,
  wasMember,
} from "../replication/member-steps.ts";
import { setStartUp, writeStartUp } from "../disk/server-writes.ts";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import { encryptServer, prepareKeyring, sendKeyring } from "../encryption/keyring.ts";
import { makeTemporary, temporaryMb } from "../encryption/temporary.ts";
import { applyFirewall, isFirewallApplied } from "../access/firewall-steps.ts";
import { type DesiredServer, isWrittenFor, serverOf } from "./container.ts";
import type { NodePaths } from "../base/host-paths.ts";
import { mountedFile } from "../node/mounts.ts";
import { repairAdmin } from "../mysql/baseline.ts";
import { answers, setAdminPassword } from "../mysql/node-sql.ts";
import { isInhabited, makeNetwork, networkId } from "../node/network.ts";
import { certificateState, makeCertificate, useCertificate } from "../node/node-certificate.ts";
import type { NodeContext } from "../node/node-context.ts";
import type { ProvisionContext } from "./provision-context.ts";
import { appliedCredentials, recordCredentials } from "../specs/node-state.ts";
import { CannotHeal, containerName, imageName, isThere, requireSha256, settled, specLabel } from "../node/podman.ts";
import { runCommand } from "../base/run-command.ts";
import type { StepTable } from "../base/run-steps.ts";
import { volumesOf } from "../node/timelines.ts";
import { exists, makeVolume, releaseVolume } from "../node/volume.ts";

/** A run that waits here continues with the steps after it. */
export const readyStep = "ready";

export const provisionSteps: StepTable<ProvisionContext> = {
  name: "provision",
  steps: [
    // A member's firewall lets the other members in even while it is down, so that they reach it as soon as it is up.
    {
      name: "peers",
      percent: 2,
      done: async (context) => context.spec.cluster === undefined || isFirewallApplied(context),
      run: applyFirewall,
    },
    // Before anything that could start it: a primary that crashed may have to be replaced by another member.
    { name: "fence", percent: 3, run: fenceDeadPrimary },
    {
      name: "image",
      percent: 5,
      run: ensureEngine,
    },
    {
      name: "switch",
      percent: 10,
      done: async ({ paths }) => [undefined, paths.image].includes(await mountedFile(paths.volume)),
      run: leaveOtherTimeline,
    },
    { name: "volume", percent: 20, run: mountVolume },
    { name: "data", percent: 35, done: ({ paths }) => exists(paths.data), run: unpackData },
    { name: "keyring", percent: 36, done: isInClear, run: prepareKeyring },
    { name: "temporary", percent: 38, done: isInClear, run: makePlaceForTemporaryFiles },
    {
      name: "network",
      percent: 40,
      done: async ({ network }) => network.hostAddress === undefined && (await networkId(network)) !== undefined,
      run: ({ network }) => makeNetwork(network),
    },
    {
      name: "certificate",
      percent: 43,
      // Any certificate will do at first: without a gateway, a host starts its nodes with what is on its disk.
      done: async (context) => (await certificateState(context)) !== "absent",
      run: makeCertificate,
    },
    { name: "config", percent: 45, run: writeConfig },
    { name: "container", percent: 55, run: makeContainer },
    {
      name: "start",
      percent: 65,
      run: ({ podman, spec }) => settled(podman.client.getContainer(containerName(spec.node)).start()),
    },
    { name: readyStep, percent: 90, run: waitUntilReady },
    { name: "encryption", percent: 91, done: isInClear, run: encryptAndSendKeyring },
    {
      name: "tls",
      percent: 92,
      done: async (context) => ["right", "ending"].includes(await certificateState(context)),
      run: useCertificate,
    },
    ...memberSteps,
    baselineStep,
    {
      name: "credentials",
      percent: 96,
      done: async ({ paths, spec }) => !spec.cluster && (await appliedCredentials(paths)) >= spec.credentials.version,
      run: async (context) => {
        const { paths, spec, adminPassword } = context;
        if (spec.cluster !== undefined) return agreeOnCredentials(context);
        if (isReset(spec)) await repairAdmin(paths.socket, context);
        await setAdminPassword(paths.socket, spec.credentials, await adminPassword(spec.node));
        await recordCredentials(paths, spec.credentials.version);
      },
    },
    // Last: nobody is admitted before the server is complete.
    { name: "firewall", percent: 100, done: isFirewallApplied, run: applyFirewall },
  ],
};

async function isInClear({ spec }: NodeContext): Promise<boolean> {
  return !spec.database.encrypted;
}

async function makePlaceForTemporaryFiles({ paths, spec }: NodeContext): Promise<void> {
  await makeTemporary(paths.temporary, temporaryMb(spec.resources.disk_mb), spec.uid);
}

/** Before any account can be used: what a tenant writes is encrypted with keys that exist in two places. */
async function encryptAndSendKeyring(context: ProvisionContext): Promise<void> {
  await encryptServer(context.paths.socket);
  await sendKeyring(context);
}

export async function ensureEngine({ podman, spec: { engine }, enginesDir }: NodeContext): Promise<void> {
  await podman.ensureImage(imageName(engine.name, engine.image), await imageFile(enginesDir, engine), engine.image);
}

/** Other images of the same version, such as the next and the previous one, are next to the engine's own. */
async function imageFile(enginesDir: string, { name, image }: NodeSpec["engine"]): Promise<string> {
  const other = join(enginesDir, name, "images", `${image}.tar.zst`);
  return (await exists(other)) ? other : join(enginesDir, name, "image.tar.zst");
}

/** Stops the server of the previous timeline cleanly: the database may return to that timeline. */
async function leaveOtherTimeline(context: NodeContext): Promise<void> {
  await requireData(context);
  const { podman, paths, spec, network } = context;
  const container = podman.client.getContainer(containerName(spec.node));
  if (await isInhabited(network)) await stopServer(context);
  await settled(container.remove({ force: true }));
  const mounted = await mountedFile(paths.volume);
  if (mounted !== undefined) await releaseVolume({ image: mounted, volume: paths.volume });
}

/** An empty volume would be taken for the desired timeline: only a node without any volume starts with one. */
async function requireData(context: NodeContext): Promise<void> {
  const { host, paths, spec } = context;
  // A member takes missing data from the other members.
  if ((await exists(paths.image)) || spec.data?.origin === "cluster" || (await wasMember(context))) return;
  if (spec.data?.origin === "archive" || (await volumesOf(host, spec.node)).length > 0)
    throw new CannotHeal(`This host no longer has timeline ${paths.ordinal} of the node.`);
}

async function mountVolume(context: NodeContext): Promise<void> {
  const { paths, spec } = context;
  await requireData(context);
  await recloneIfLost(context);
  await makeVolume(paths, spec.resources.disk_mb);
}

/** Earlier archives are next to the current one: a database without a copy is restored from the one it started with. */
async function preparedFile(enginesDir: string, { name, prepared }: NodeSpec["engine"]): Promise<string> {
  const earlier = join(enginesDir, name, "prepared", `${prepared}.tar.zst`);
  return (await exists(earlier)) ? earlier : join(enginesDir, name, "prepared.tar.zst");
}

type UnpackInput = Pick<NodeContext, "spec" | "enginesDir"> & {
  paths: Pick<NodePaths, "volume" | "data" | "fixedConfig">;
};

/** `data` appears by a rename once all of it is on the disk: a half-unpacked directory is never started. */
export async function unpackData({ paths, spec, enginesDir }: UnpackInput): Promise<void> {
  const archive = await preparedFile(enginesDir, spec.engine);
  await requireSha256(archive, spec.engine.prepared);
  const [temporary, scratch] = [join(paths.volume, "data.tmp"), join(paths.volume, "tmp")];
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary);
  await mkdir(scratch, { recursive: true });
  await runCommand("tar", ["--zstd", "-xf", archive, "-C", temporary]);
  const unpacked = await readdir(temporary, { recursive: true });
  await Promise.all(unpacked.map((name) => lchown(join(temporary, name), spec.uid, spec.uid)));
  await chown(scratch, spec.uid, spec.uid);
  await runCommand("sync", ["--file-system", temporary]);
  await rename(join(temporary, "fixed.cnf"), paths.fixedConfig);
  await rename(join(temporary, "data"), paths.data);
  await rm(temporary, { recursive: true, force: true });
}

async function requireServer(context: NodeContext): Promise<DesiredServer> {
  const desired = await serverOf(context);
  if (desired === undefined) throw new Error("The volume is not mounted, or the network does not exist.");
  return desired;
}

async function writeConfig(context: NodeContext): Promise<void> {
  const { paths, spec } = context;
  const desired = await requireServer(context);
  await mkdir(paths.run, { recursive: true, mode: 0o750 });
  await chown(paths.run, spec.uid, spec.uid);
  if (spec.archive !== undefined) await mkdir(paths.scratch, { recursive: true, mode: 0o711 });
  if (!isWrittenFor(await readIfThere(paths.config), desired)) await writeDurably(paths.config, desired.config, 0o644);
  await nameServer(context);
  if (await startsClosed(context)) await setStartUp(paths, "group");
  // Not yet ready for its cluster, or to be re-cloned: tenants must not write to it.
  else if (spec.cluster !== undefined) await setStartUp(paths, "closed");
  else await writeStartUp(paths, spec.resources.disk_mb);
}

/** Podman's states of a container that has no process. */
const startable = new Set(["configured", "created", "exited", "stopped"]);

async function makeContainer(context: NodeContext): Promise<void> {
  const { podman, spec } = context;
  const desired = await requireServer(context);
  const container = podman.client.getContainer(containerName(spec.node));
  const found = await isThere(container.inspect());
  // A dead process that podman believes to be running can neither be stopped nor started: only a new container helps.
  const alive = await isInhabited(context.network);
  const haunted = found !== undefined && !alive && !startable.has(found.State.Status);
  if (found?.Config.Labels[specLabel] === desired.hash && !haunted) return;
  if (found) {
    if (!haunted) await stopServer(context);
    await settled(container.remove({ force: true }));
  }
  await podman.client.createContainer(desired.options);
}

const readyWithinMs = 120_000;

export async function waitUntilReady(context: ProvisionContext): Promise<void> {
  await context.background.run(context.spec.node, {
    name: "wait until ready",
    waitsFor: "the server to answer",
    run: (signal) => untilItAnswers(context, signal),
  });
}

async function untilItAnswers({ podman, paths, spec, network }: NodeContext, signal: AbortSignal): Promise<void> {
  const container = podman.client.getContainer(containerName(spec.node));
  const started = performance.now();
  for (let tries = 1; !(await answers(paths.socket)); tries++) {
    signal.throwIfAborted();
    if (performance.now() - started > readyWithinMs) throw new Error("The server did not answer within two minutes.");
    if (tries % 25 === 0) {
      const found = await isThere(container.inspect());
      if (!found?.State.Running || !(await isInhabited(network)))
        throw new Error(`The server ended while starting: ${await lastError(found?.LogPath)}`);
    }
    await sleep(20);
  }
}

export async function lastError(logPath: string | undefined): Promise<string> {
  if (!logPath) return "it left no log.";
  const lines = (await readFile(logPath, "utf8").catch(() => "")).trimEnd().split("\n");
  return lines.findLast((line) => line.includes("[ERROR]")) ?? lines.at(-1) ?? "it left no log.";
}
