import { chown, lchown, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { baselineStep } from "./baseline-steps.ts";
import { fenceDeadPrimary } from "./cluster/following/fence.ts";
import { nameServer } from "./cluster/following/server-name.ts";
import { agreeOnCredentials, isReset, memberSteps, startsClosed } from "./cluster/group-steps.ts";
import { recloneIfLost, wasMember } from "./cluster/lost-data.ts";
import { setStartUp, writeStartUp } from "./disk/start-up.ts";
import { readIfThere, writeDurably } from "./durable-file.ts";
import { encryptServer } from "./encryption/encrypt-server.ts";
import { prepareKeyring, sendKeyring } from "./encryption/keyring.ts";
import { makeTemporary, temporaryMb } from "./encryption/temporary.ts";
import { applyFirewall, isFirewallApplied } from "./firewall/firewall-steps.ts";
import { configOf, containerOf } from "./gather.ts";
import type { NodePaths } from "./host-paths.ts";
import { mountedFile } from "./mounts.ts";
import { repairAdmin } from "./mysql/baseline.ts";
import { answers, setAdminPassword } from "./mysql/node-sql.ts";
import { isInhabited, makeNetwork, networkId } from "./network.ts";
import { certificateState, makeCertificate, useCertificate } from "./node-certificate.ts";
import type { NodeContext } from "./node-context.ts";
import { appliedCredentials, recordCredentials } from "./node-state.ts";
import { CannotHeal, containerName, imageName, isThere, requireSha256, settled, specLabel } from "./podman.ts";
import { runCommand } from "./run-command.ts";
import type { StepTable } from "./run-steps.ts";
import { stopServer } from "./stop-server.ts";
import { volumesOf } from "./timelines.ts";
import { exists, makeVolume, releaseVolume } from "./volume.ts";

export const provisionSteps: StepTable = {
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
    { name: "ready", percent: 90, run: waitUntilReady },
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
async function encryptAndSendKeyring(context: NodeContext): Promise<void> {
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

async function writeConfig(context: NodeContext): Promise<void> {
  const { paths, spec } = context;
  const text = await configOf(context);
  if (text === undefined) throw new Error("The volume has no fixed.cnf.");
  await mkdir(paths.run, { recursive: true, mode: 0o750 });
  await chown(paths.run, spec.uid, spec.uid);
  if (spec.archive !== undefined) await mkdir(paths.scratch, { recursive: true, mode: 0o711 });
  if ((await readIfThere(paths.config)) !== text) await writeDurably(paths.config, text, 0o644);
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
  const desired = await containerOf(context);
  if (desired === undefined) throw new Error("The volume is not mounted, or the network does not exist.");
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

export async function waitUntilReady({ podman, paths, spec, network, superseded }: NodeContext): Promise<void> {
  const container = podman.client.getContainer(containerName(spec.node));
  const started = performance.now();
  for (let tries = 1; !(await answers(paths.socket)); tries++) {
    if (superseded()) throw new Error("A newer spec arrived while the server was starting.");
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
