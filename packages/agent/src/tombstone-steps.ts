import { rm, rmdir } from "node:fs/promises";
import { releaseTemporary } from "./encryption/temporary.ts";
import { removeClusterFile } from "./gatekeeper/cluster-file.ts";
import { nodePaths } from "./host-paths.ts";
import { removeNetwork } from "./network.ts";
import type { NodeContext } from "./node-context.ts";
import { containerName, settled } from "./podman.ts";
import { removeLeftovers } from "./restore/workplace.ts";
import type { StepTable } from "./run-steps.ts";
import { stopServer } from "./stop-server.ts";
import { volumesOf } from "./timelines.ts";
import { moveToTrash } from "./trash.ts";
import { exists, releaseVolume } from "./volume.ts";

const container = ({ podman, spec }: NodeContext) => podman.client.getContainer(containerName(spec.node));

export const tombstoneSteps: StepTable = {
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

async function closeFirewall({ firewall, proxies, spec }: NodeContext): Promise<void> {
  await firewall.close(spec);
  if (spec.cluster !== undefined) await proxies.end(spec.node);
}

async function disconnectPeers({ firewall, host, network, spec }: NodeContext): Promise<void> {
  await firewall.disallowPeers(spec);
  if (spec.cluster !== undefined) await removeClusterFile(host, spec.node);
  await removeNetwork(network);
}

async function unmountAll({ host, paths, spec }: NodeContext): Promise<void> {
  await releaseVolume(paths);
  await releaseTemporary(paths.temporary);
  for (const ordinal of await volumesOf(host, spec.node)) await releaseVolume(nodePaths(host, spec.node, ordinal));
}

async function trashAll({ host, spec, clock }: NodeContext): Promise<void> {
  for (const ordinal of await volumesOf(host, spec.node))
    await moveToTrash(host.trash, nodePaths(host, spec.node, ordinal), spec, clock());
}

async function forget({ spec, store, paths }: NodeContext): Promise<void> {
  await store.bury(spec, spec.tombstone?.operation ?? 0);
  // rmdir, not rm: if the volume is still mounted here, this fails and no data is lost.
  if (await exists(paths.volume)) await rmdir(paths.volume);
  await rm(paths.folder, { recursive: true, force: true });
  await rm(`${paths.image}.tmp`, { force: true });
  await store.forget(spec.node);
}
