import { createPublicKey } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { release } from "@moorage/contract/process";
import type { Logger } from "pino";
import { createArchiver } from "./archive/archiver.ts";
import { createLimiter } from "./archive/limiter.ts";
import { hostPaths, makeHostFolders } from "./base/host-paths.ts";
import { captureDisk } from "./capture/capture-disk.ts";
import { createCaptures } from "./capture/captures.ts";
import type { Config } from "./config.ts";
import { writeKeyringComponent } from "./encryption/keyring.ts";
import { createFirewall } from "./firewall/firewall.ts";
import { readChanges, removeChanges } from "./gatekeeper/change-files.ts";
import { connectGatekeeper } from "./gatekeeper/gatekeeper-client.ts";
import { createGatewayLink, nodeRequests } from "./gateway/gateway-port.ts";
import { goneReport } from "./gateway/poll.ts";
import { createReporter } from "./gateway/reporter.ts";
import { allowNativeIo } from "./node/native-io.ts";
import { allowForwarding } from "./node/network.ts";
import { openPodman } from "./node/podman.ts";
import { writeSeccompProfile } from "./node/seccomp.ts";
import { ownerOfVolume } from "./node/timelines.ts";
import { createProxies } from "./proxy/proxies.ts";
import { listContainers } from "./reconcile/gather.ts";
import { createReconciler } from "./reconcile/reconcile.ts";
import type { StepDeps } from "./reconcile/step-context.ts";
import { createFollowingMemories } from "./replication/following/following-memory.ts";
import { createVerification } from "./restore/verification.ts";
import { admitDeletions, countStart, openHostRecord } from "./specs/host-record.ts";
import { openSpecStore } from "./specs/spec-store.ts";

export const agentVersion = release.version;

/** Nightly copies, verification restores, captures: one at a time, because tenants use the same disks. */
const heavyAtOnce = 1;

/** The firewall first: it is in force before anything is started or anybody is asked. */
export async function prepareHost(config: Config, log: Logger, clock: () => Date) {
  const host = hostPaths(config.dir);
  await makeHostFolders(host);
  await writeSeccompProfile(host.seccomp);
  await writeKeyringComponent(host);
  await allowForwarding();
  await allowNativeIo();
  const store = await openSpecStore(host, clock);
  const firewall = createFirewall({ log });
  await firewall.start(store.all());
  return { config, log, clock, host, store, firewall };
}
type PreparedHost = Awaited<ReturnType<typeof prepareHost>>;

/** The agent's parts, connected to each other. None of them works before it is started. */
export async function composeAgent({ config, log, clock, host, store, firewall }: PreparedHost) {
  const proxies = createProxies({ host, checkPort: config.gatekeeperCheckPort, log });
  const record = await openHostRecord(host.record);
  const podman = await openPodman(config.podmanSocket);
  const operatorKey = createPublicKey(await readFile(config.operatorKey));
  const gatekeeper = connectGatekeeper(config.gatekeeperCheckPort);
  const link = createGatewayLink();
  const gateway = link.port;
  const reporter = createReporter({
    start: await countStart(record, clock),
    send: gateway.observed,
    digest: () => digestOf(store, reporter.get),
    specOf: store.get,
    unknown: async () => [
      ...(await unknownContainers(podman, store.get)),
      ...(await unknownVolumes(host.volumes, store.get)),
    ],
    changes: { read: () => readChanges(host), remove: (reported) => removeChanges(host, reported) },
    log,
  });
  const nodeDeps: Omit<StepDeps, "background"> = {
    host,
    store,
    podman,
    firewall,
    proxies,
    clock,
    log,
    ...nodeRequests(gateway),
    enginesDir: config.enginesDir,
    admitDeletion: admitDeletions({ record, clock, operatorKey, limits: config.deletionLimits }),
    gatewayAnswers: link.answers,
    viewsOf: (node) => gatekeeper.views(node).catch(() => undefined),
    following: createFollowingMemories(),
  };
  const heavyWork = createLimiter(heavyAtOnce);
  const captureDeps = { folders: config.diskFolders, imageUploads: gateway.imageUploads };
  const captures = createCaptures({
    captureOnce: (capture, order) => captureDisk(captureDeps, capture, order),
    oneAtATime: heavyWork.run,
    report: reporter.setCaptures,
    log,
  });
  const archiver = createArchiver({
    host,
    store,
    podman,
    reporter,
    clock,
    log,
    oneAtATime: heavyWork.run,
    verification: createVerification({ ...nodeDeps, agentVersion, reportVerified: gateway.verified }),
    uploads: gateway.uploads,
    viewsOf: nodeDeps.viewsOf,
    archived: gateway.archived,
  });
  const reconciler = createReconciler({
    ...nodeDeps,
    reporter,
    shipNow: archiver.shipNow,
    liveness: config.liveness,
  });
  return { record, link, reporter, nodeDeps, captures, archiver, reconciler };
}

type Store = PreparedHost["store"];

/** Every node with its spec, including removed ones. */
const digestOf = (store: Store, get: (node: string) => NodeReport | undefined): NodeReport[] => [
  ...store.all().map((spec) => ({ ...(get(spec.node) ?? untouched(spec)), seal: spec.seal, spec })),
  ...store
    .tombstones()
    .filter(({ spec }) => !store.get(spec.node))
    .map((tombstone) => ({ ...goneReport(tombstone), spec: tombstone.spec })),
];

async function unknownContainers(podman: StepDeps["podman"], get: Store["get"]): Promise<string[]> {
  const containers = await listContainers(podman).catch(() => new Map<string, unknown>());
  return [...containers.keys()].filter((node) => !get(node)).map((node) => `container ${node}`);
}

async function unknownVolumes(folder: string, get: Store["get"]): Promise<string[]> {
  const volumes = (await readdir(folder)).filter((name) => name.endsWith(".img"));
  return volumes.filter((name) => !get(ownerOfVolume(name)?.node ?? "")).map((name) => `volume ${name}`);
}

/** The report of a spec that no run has begun with. */
export const untouched = ({ node, epoch, generation }: NodeSpec): NodeReport => ({
  node,
  epoch,
  generation,
  state: "working",
  percent: 0,
});
