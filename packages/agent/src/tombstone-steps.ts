import { rm, rmdir } from "node:fs/promises";
import { removeNetwork } from "./network.ts";
import type { NodeContext } from "./node-context.ts";
import { containerName, settled } from "./podman.ts";
import type { StepTable } from "./run-steps.ts";
import { moveToTrash } from "./trash.ts";
import { exists, releaseVolume } from "./volume.ts";

const container = ({ podman, spec }: NodeContext) => podman.client.getContainer(containerName(spec.node));

export const tombstoneSteps: StepTable = {
  name: "tombstone",
  steps: [
    { name: "gate", percent: 5, run: ({ gate, spec }) => gate.close(spec) },
    // SIGTERM, then SIGKILL after a minute: a clean end makes an undelete start without recovery.
    { name: "stop", percent: 40, run: (context) => settled(container(context).stop({ t: 60 })) },
    { name: "remove", percent: 55, run: (context) => settled(container(context).remove({ force: true })) },
    { name: "network", percent: 65, run: ({ network }) => removeNetwork(network) },
    { name: "unmount", percent: 80, run: ({ paths }) => releaseVolume(paths) },
    {
      name: "trash",
      percent: 90,
      done: async ({ paths }) => !(await exists(paths.image)),
      run: ({ host, paths, spec, clock }) => moveToTrash(host.trash, paths.image, spec, clock()),
    },
    { name: "forget", percent: 100, run: forget },
  ],
};

async function forget({ spec, store, paths }: NodeContext): Promise<void> {
  await store.bury(spec, spec.tombstone?.operation ?? 0);
  // rmdir, not rm: if the volume were still mounted here, this fails and no data is lost.
  if (await exists(paths.volume)) await rmdir(paths.volume);
  await rm(paths.folder, { recursive: true, force: true });
  await rm(`${paths.image}.tmp`, { force: true });
  await store.forget(spec.node);
}
