import { createPublicKey } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type NodeReport, PROTOCOL, type VerifiedRequest } from "@moorage/contract/agent";
import { announceSteps } from "@moorage/crash-points";
import type { Logger } from "pino";
import { baselineSteps } from "./baseline-steps.ts";
import { bootId } from "./boot-id.ts";
import { createArchiver } from "./archive/archiver.ts";
import { copySteps } from "./archive/copy.ts";
import { endTaskStep } from "./archive/tasks.ts";
import { shipSteps } from "./archive/ship-logs.ts";
import { reportArchivedSteps } from "./archive/report-archived.ts";
import { createLimiter } from "./archive/limiter.ts";
import { captureDisk, captureSteps } from "./capture/capture-disk.ts";
import { saveErrantSteps } from "./cluster/following/save-errant.ts";
import { groupSteps } from "./cluster/group-steps.ts";
import { recordSteps } from "./cluster/record-steps.ts";
import { watchGroups } from "./cluster/watch-groups.ts";
import { createCaptures } from "./capture/captures.ts";
import type { Config } from "./config.ts";
import { diskSteps, watchDisks } from "./disk/watch-disks.ts";
import { writeKeyringComponent } from "./encryption/keyring-component.ts";
import { discardSteps } from "./discard-steps.ts";
import { enrol } from "./enrol.ts";
import { createProxies } from "./proxy/proxies.ts";
import { createFirewall } from "./firewall/firewall.ts";
import { firewallSteps } from "./firewall/firewall-steps.ts";
import { readChanges, removeChanges } from "./gatekeeper/change-files.ts";
import { connectGatekeeper } from "./gatekeeper/gatekeeper-client.ts";
import { connectGateway, type Gateway, GatewayAway, type Identity } from "./gateway.ts";
import { listContainers } from "./gather.ts";
import { hostPaths, makeHostFolders } from "./host-paths.ts";
import { openHostRecord } from "./host-record.ts";
import { keepSampling, type SamplingDeps } from "./metrics/keep-sampling.ts";
import { allowForwarding } from "./network.ts";
import type { NodeDeps } from "./node-context.ts";
import { openPodman } from "./podman.ts";
import { follow, goneReport, keepPolling } from "./poll.ts";
import { powerOffSteps } from "./power-off-steps.ts";
import { provisionSteps } from "./provision-steps.ts";
import { createReconciler, reachedStep } from "./reconcile.ts";
import { keepRenewing } from "./renew.ts";
import { renewSteps } from "./renew-steps.ts";
import { createReporter } from "./reporter.ts";
import { restoreSteps } from "./restore/restore-steps.ts";
import { createVerification } from "./restore/verification.ts";
import { reportVerifiedStep, verifySteps } from "./restore/verify-point.ts";
import { removeLeftovers } from "./restore/workplace.ts";
import { stepNames } from "./run-steps.ts";
import { writeSeccompProfile } from "./seccomp.ts";
import { openSpecStore } from "./spec-store.ts";
import { ownerOfVolume } from "./timelines.ts";
import { tombstoneSteps } from "./tombstone-steps.ts";
import { purgeTrash, trashMb } from "./trash.ts";
import { watchExits } from "./watch-exits.ts";

export type Agent = { close: () => Promise<void> };
export const agentVersion = "0.1.0";

const purgeEveryMs = 3_600_000;
const firstReconcileMs = 3000;
/** How long a reachable gateway may take to answer. */
const answerWithinMs = 2000;
const connectedSoonMs = 50;
/** Nightly copies, verification restores, captures: one at a time, because tenants use the same disks. */
const heavyAtOnce = 1;

/** Starts the host's nodes from its own disk first; then, for as long as it runs, polls the gateway. */
export async function startAgent(config: Config, log: Logger, clock = () => new Date()): Promise<Agent> {
  const tables = [
    provisionSteps,
    groupSteps,
    firewallSteps,
    baselineSteps,
    renewSteps,
    restoreSteps,
    verifySteps,
    discardSteps,
    powerOffSteps,
    tombstoneSteps,
  ] as const;
  const archiveSteps = [...copySteps, ...shipSteps, ...reportArchivedSteps, endTaskStep];
  announceSteps("agent", [
    ...tables.flatMap(stepNames),
    reachedStep,
    reportVerifiedStep,
    ...diskSteps,
    ...archiveSteps,
    ...captureSteps,
    ...Object.values(recordSteps),
    ...saveErrantSteps,
  ]);
  const host = hostPaths(config.dir);
  await makeHostFolders(host);
  await writeSeccompProfile(host.seccomp);
  await writeKeyringComponent(host);
  await allowForwarding();
  const store = await openSpecStore(host, clock);
  const firewall = createFirewall({ log });
  await firewall.start(store.all());
  const proxies = createProxies({ host, checkPort: config.gatekeeperCheckPort, log });
  const record = await openHostRecord(host.record);
  const podman = await openPodman(config.podmanSocket);
  const operatorKey = createPublicKey(await readFile(config.operatorKey));
  const stop = new AbortController();
  let gateway: Gateway | undefined;
  const connected = (): Gateway => {
    if (gateway === undefined) throw new GatewayAway("This host has not reached the fleet gateway yet.");
    return gateway;
  };

  const unknown = async (): Promise<string[]> => {
    const containers = [...(await listContainers(podman).catch(() => new Map())).keys()];
    const volumes = (await readdir(host.volumes)).filter((name) => name.endsWith(".img"));
    return [
      ...containers.filter((node) => !store.get(node)).map((node) => `container ${node}`),
      ...volumes.filter((name) => !store.get(ownerOfVolume(name)?.node ?? "")).map((name) => `volume ${name}`),
    ];
  };
  const digest = (): NodeReport[] => [
    ...store.all().map((spec) => ({ ...(reporter.get(spec.node) ?? untouched(spec)), spec })),
    ...store
      .tombstones()
      .filter(({ spec }) => !store.get(spec.node))
      .map((tombstone) => ({ ...goneReport(tombstone), spec: tombstone.spec })),
  ];
  const reporter = createReporter({
    send: (message, signal) => connected().observed(message, signal),
    digest,
    unknown,
    changes: { read: () => readChanges(host), remove: (reported) => removeChanges(host, reported) },
    log,
  });
  const adminPassword = async (node: string) =>
    (await connected().secrets({ protocol: PROTOCOL, node })).admin_password;
  const gatekeeper = connectGatekeeper(config.gatekeeperCheckPort);
  const groupPassword = async (node: string) => {
    const { group_password } = await connected().secrets({ protocol: PROTOCOL, node });
    if (group_password === undefined) throw new Error("The gateway sent no password of the members' account.");
    return group_password;
  };
  const gatewayAnswers = async () => {
    const timeout = AbortSignal.timeout(answerWithinMs);
    // An agent that has just started is not connected yet; that does not make the gateway unreachable.
    while (gateway === undefined && !timeout.aborted) await sleep(connectedSoonMs);
    return Promise.try(() => connected().samples({ protocol: PROTOCOL, nodes: [] }, timeout)).then(
      () => true,
      () => false,
    );
  };
  const certificateFor = (node: string, csr: string) => connected().certificate({ protocol: PROTOCOL, node, csr });
  const recipeFor: NodeDeps["recipeFor"] = async (node, purpose) =>
    (await connected().recipe({ protocol: PROTOCOL, node, purpose })).recipe;
  const keyringOf = async (node: string) => {
    const { keyring } = await connected().secrets({ protocol: PROTOCOL, node });
    return keyring === undefined ? undefined : Buffer.from(keyring, "base64");
  };
  const sendKeyring = async (node: string, keyring: Buffer) =>
    void (await connected().keyring({ protocol: PROTOCOL, node, keyring: keyring.toString("base64") }));
  const uploads: NodeDeps["uploads"] = (message, signal) => connected().uploads(message, signal);
  const nodeDeps: NodeDeps = {
    host,
    store,
    podman,
    firewall,
    proxies,
    enginesDir: config.enginesDir,
    adminPassword,
    groupPassword,
    gatewayAnswers,
    uploads,
    viewsOf: (node) => gatekeeper.views(node).catch(() => undefined),
    certificateFor,
    recipeFor,
    keyringOf,
    sendKeyring,
    clock,
    log,
  };
  const reportVerified = (message: VerifiedRequest) => connected().verified(message);
  const heavyWork = createLimiter(heavyAtOnce);
  const captures = createCaptures({
    captureOnce: (capture, order) =>
      captureDisk(
        {
          folders: config.diskFolders,
          imageUploads: (message, signal) => connected().imageUploads(message, signal),
        },
        capture,
        order,
      ),
    oneAtATime: heavyWork.run,
    report: reporter.setCaptures,
    log,
  });
  const archiver = createArchiver({
    oneAtATime: heavyWork.run,
    verification: createVerification({ ...nodeDeps, agentVersion, reportVerified }),
    host,
    store,
    podman,
    reporter,
    uploads,
    viewsOf: nodeDeps.viewsOf,
    archived: (message, signal) => connected().archived(message, signal),
    clock,
    log,
  });
  const reconciler = createReconciler({
    ...nodeDeps,
    reporter,
    record,
    operatorKey,
    shipNow: archiver.shipNow,
    deletionsPerWindow: config.deletionsPerWindow,
    deletionWindowMs: config.deletionWindowMs,
  });

  for (const spec of store.all()) reporter.set(untouched(spec));
  for (const tombstone of store.tombstones()) if (!store.get(tombstone.spec.node)) reporter.set(goneReport(tombstone));
  for (const raw of await store.setAside()) follow(await store.offer(raw), { reporter, log });
  await removeLeftovers({ host, podman }).catch((error: unknown) =>
    log.warn({ error: String(error) }, "files of an earlier agent's unfinished work could not be removed"),
  );
  await archiver.prepare();
  reconciler.start();
  void archiver.start();

  async function talk(): Promise<void> {
    const identity = await enrol({ config, paths: host, record, log, signal: stop.signal });
    const connect = async (as: Identity): Promise<void> => {
      const before = gateway;
      gateway = connectGateway(config.fleetUrl, await readFile(config.fleetCa, "utf8"), as);
      // Requests in flight on the old connection fail and are repeated on the new one.
      await before?.close();
    };
    await connect(identity);
    void keepRenewing({ identity, gateway: connected, use: connect, paths: host, clock, log }, stop.signal);
    // A healthy node is recognised within moments, so the first report need not call it unknown.
    await Promise.race([reconciler.idle(), sleep(firstReconcileMs, undefined, { signal: stop.signal })]);
    void reporter.start();
    const boot = await bootId();
    await keepPolling(
      {
        desired: (message, signal) => connected().desired(message, signal),
        store,
        record,
        reporter,
        captures,
        reconciler,
        boot,
        version: agentVersion,
        trashMb: () => trashMb(host.trash),
        clock,
        log,
      },
      stop.signal,
    );
  }
  async function keepPurging(): Promise<void> {
    while (!stop.signal.aborted) {
      const purged = await purgeTrash(host.trash, clock(), config.trashMs).catch((error: unknown) => String(error));
      if (purged.length > 0) log.info({ purged }, "trash purged");
      await sleep(purgeEveryMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  }
  const talking = talk().catch((error: unknown) => {
    if (!stop.signal.aborted) log.fatal({ err: error }, "polling the gateway ended with an error");
  });
  const samples: SamplingDeps["send"] = (message, signal) => connected().samples(message, signal);
  const sampling = keepSampling({ host, specs: store.all, send: samples, log }, stop.signal);
  const disks = watchDisks({ host, specs: store.all, reporter, makeRoom: archiver.makeRoom, log }, stop.signal);
  const groups = watchGroups({ ...nodeDeps, reporter, wake: reconciler.wake }, stop.signal);
  const background = [
    proxies.keepRunning(store.all, stop.signal),
    disks,
    groups,
    talking,
    keepPurging(),
    watchExits(podman, reconciler.ended, stop.signal),
    sampling,
  ];

  return {
    async close(): Promise<void> {
      stop.abort();
      await Promise.all([reconciler.close(), archiver.close(), captures.close()]);
      await firewall.stop();
      await reporter.close();
      await Promise.all(background);
      await gateway?.close();
    },
  };
}

const untouched = ({ node, epoch, generation }: { node: string; epoch: number; generation: number }): NodeReport => ({
  node,
  epoch,
  generation,
  state: "working",
  percent: 0,
});
