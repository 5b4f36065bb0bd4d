import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { announceSteps } from "@moorage/crash-points";
import type { Logger } from "pino";
import { firewallSteps } from "./access/firewall-steps.ts";
import { copySteps } from "./archive/copy.ts";
import { reportArchivedSteps } from "./archive/report-archived.ts";
import { shipSteps } from "./archive/ship-logs.ts";
import { endTaskStep } from "./archive/tasks.ts";
import { bootId } from "./base/boot-id.ts";
import { stepNames } from "./base/run-steps.ts";
import { captureSteps } from "./capture/capture-disk.ts";
import { agentVersion, composeAgent, prepareHost, untouched } from "./compose-agent.ts";
import type { Config } from "./config.ts";
import { diskSteps, watchDisks } from "./disk/watch-disks.ts";
import { enrol, keepRenewing } from "./gateway/host-certificate.ts";
import { connectGateway, type Identity } from "./gateway/gateway.ts";
import { follow, goneReport, keepPolling } from "./gateway/poll.ts";
import { readRevokedKeys, saveRevokedKeys } from "./gateway/revoked-keys.ts";
import { keepSampling } from "./metrics/keep-sampling.ts";
import { renewSteps } from "./node/node-certificate.ts";
import { purgeTrash, trashMb } from "./node/trash.ts";
import { watchExits } from "./node/podman.ts";
import { baselineSteps } from "./provision/baseline-steps.ts";
import { groupSteps } from "./provision/group-steps.ts";
import { provisionSteps } from "./provision/provision-steps.ts";
import { discardSteps, tombstoneSteps } from "./reconcile/tombstone-steps.ts";
import { reachedStep } from "./reconcile/handlers.ts";
import { isHolding } from "./reconcile/next-report.ts";
import { powerOffSteps } from "./reconcile/power-off-steps.ts";
import { saveErrantSteps } from "./replication/following/save-errant.ts";
import { recordSteps } from "./replication/member/member-context.ts";
import { watchGroups } from "./replication/watch-groups.ts";
import { restoreSteps } from "./restore/restore-steps.ts";
import { reportVerifiedStep, verifySteps } from "./restore/verify-point.ts";
import { removeLeftovers } from "./restore/workplace.ts";

export type Agent = { close: () => Promise<void> };

const purgeEveryMs = 600_000;
const firstReconcileMs = 3000;

const stepTables = [
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
const allSteps = [
  ...stepTables.flatMap(stepNames),
  reachedStep,
  reportVerifiedStep,
  ...diskSteps,
  ...copySteps,
  ...shipSteps,
  ...reportArchivedSteps,
  endTaskStep,
  ...captureSteps,
  ...Object.values(recordSteps),
  ...saveErrantSteps,
];

/** Starts the host's nodes from its own disk first; then, for as long as it runs, polls the gateway. */
export async function startAgent(config: Config, log: Logger, clock = () => new Date()): Promise<Agent> {
  announceSteps("agent", allSteps);
  const prepared = await prepareHost(config, log, clock);
  const { host, store, firewall } = prepared;
  const { record, link, reporter, nodeDeps, captures, archiver, reconciler } = await composeAgent(prepared);
  const { podman, proxies } = nodeDeps;
  const gateway = link.port;
  const stop = new AbortController();

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
    const connect = async (as: Identity): Promise<void> =>
      link.use(connectGateway(config.fleetUrl, await readFile(config.fleetCa, "utf8"), as));
    await connect(identity);
    void keepRenewing({ identity, gateway, use: connect, paths: host, clock, log }, stop.signal);
    // A healthy node is recognised within moments, so the first report need not call it unknown.
    await Promise.race([reconciler.idle(), sleep(firstReconcileMs, undefined, { signal: stop.signal })]);
    void reporter.start();
    const boot = await bootId();
    await keepPolling(
      {
        store,
        record,
        reporter,
        captures,
        reconciler,
        boot,
        clock,
        log,
        desired: gateway.desired,
        version: agentVersion,
        trashMb: () => trashMb(host.trash),
        revoked: {
          version: async () => (await readRevokedKeys(host).catch(() => undefined))?.version,
          save: (keys) => saveRevokedKeys(host, keys),
        },
      },
      stop.signal,
    );
  }
  async function keepPurging(): Promise<void> {
    for (;;) {
      // First of all: what is held is known only once the nodes have been looked at.
      await sleep(purgeEveryMs, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) return;
      const isHeld = store.all().some(({ node }) => isHolding(reporter.get(node)));
      const purged = await purgeTrash(host.trash, record, { now: clock(), isHeld }, config.trash).catch(
        (error: unknown) => String(error),
      );
      if (purged.length > 0) log.info({ purged }, "trash purged");
    }
  }
  const talking = talk().catch((error: unknown) => {
    if (!stop.signal.aborted) log.fatal({ err: error }, "polling the gateway ended with an error");
  });
  const sampling = keepSampling({ host, specs: store.all, send: gateway.samples, log }, stop.signal);
  const disks = watchDisks({ host, specs: store.all, reporter, makeRoom: archiver.makeRoom, log }, stop.signal);
  const groups = watchGroups(
    { ...nodeDeps, reporter, wake: reconciler.wake, takenSpec: reconciler.takenSpec },
    stop.signal,
  );
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
      await link.close();
    },
  };
}
