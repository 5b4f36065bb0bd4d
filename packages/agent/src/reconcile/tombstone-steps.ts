import { rm, rmdir } from "node:fs/promises";
import { releaseTemporary } from "../encryption/temporary.ts";
import { Held } from "../base/try-again.ts";
import { removeClusterFile } from "../gatekeeper/cluster-file.ts";
import { nodePaths } from "../base/host-paths.ts";
import { detachLoopDevices } from "../node/mounts.ts";
import { removeNetwork } from "../node/network.ts";
import type { StepContext } from "./step-context.ts";
import { containerName, settled } from "../node/podman.ts";
import { removeLeftovers } from "../restore/workplace.ts";
import type { StepTable } from "../base/run-steps.ts";
import { stopServer } from "../replication/member-steps.ts";
import { discardedOrdinals, volumesOf } from "../node/timelines.ts";
import { moveToTrash } from "../node/trash.ts";
import { exists, releaseVolume } from "../node/volume.ts";

const container = ({ podman, spec }: StepContext) => podman.client.getContainer(containerName(spec.node));

export const tombstoneSteps: StepTable<StepContext> = {
  name: "tombstone",
  steps: [
    { name: "firewall", percent: 5, run: closeFirewall },
    { name: "stop", percent: 40, run: stopServer },
    { name: "remove", percent: 55, run: (context) => settled(container(context).remove({ force: true })) },
    // Leftovers of a restore or a verification, if the agent died during one.
    { name: "leftovers", percent: 60, run: ({ host, podman, spec }) => removeLeftovers({ host, podman }, spec.node) },
    { name: "network", percent: 65, run: disconnectPeers },
    { name: "unmount", percent: 80, run: unmountAll },
    { name: "trash", percent: 90, run: trashAll },
    { name: "forget", percent: 100, run: forget },
  ],
};

async function closeFirewall({ firewall, proxies, spec }: StepContext): Promise<void> {
  await firewall.close(spec);
  if (spec.cluster !== undefined) await proxies.end(spec.node);
}

async function disconnectPeers({ firewall, host, network, spec }: StepContext): Promise<void> {
  await firewall.disallowPeers(spec);
  if (spec.cluster !== undefined) await removeClusterFile(host, spec.node);
  await removeNetwork(network);
}

async function unmountAll({ host, paths, spec }: StepContext): Promise<void> {
  await releaseVolume(paths);
  await releaseTemporary(paths.temporary);
  for (const ordinal of await volumesOf(host, spec.node)) await releaseVolume(nodePaths(host, spec.node, ordinal));
}

async function trashAll({ host, spec, clock }: StepContext): Promise<void> {
  for (const ordinal of await volumesOf(host, spec.node))
    await moveToTrash(host.trash, nodePaths(host, spec.node, ordinal), spec, clock());
}

async function forget({ spec, store, paths }: StepContext): Promise<void> {
  await store.bury(spec, spec.tombstone?.operation ?? 0);
  // rmdir, not rm: if the volume is still mounted here, this fails and no data is lost.
  if (await exists(paths.volume)) await rmdir(paths.volume);
  await rm(paths.folder, { recursive: true, force: true });
  await rm(`${paths.image}.tmp`, { force: true });
  await store.forget(spec.node);
}

/** For a node that serves on its desired timeline: moves volumes of timelines that are no longer kept to the trash. */
export const discardSteps: StepTable<StepContext> = {
  name: "discard",
  steps: [{ name: "trash", percent: 100, run: discard }],
};

async function discard({ host, spec, clock, admitDeletion }: StepContext): Promise<void> {
  for (const ordinal of discardedOrdinals(spec, await volumesOf(host, spec.node))) {
    const admission = await admitDeletion({ node: spec.node, kind: "timeline", id: String(ordinal) });
    if (admission.kind === "held") throw new Held(admission.message);
    const other = nodePaths(host, spec.node, ordinal);
    // It is not mounted: the desired timeline's volume is, at the same place.
    await detachLoopDevices(other.image);
    await moveToTrash(host.trash, other, spec, clock());
  }
}
