import { nodePaths } from "./host-paths.ts";
import type { NodeContext } from "./node-context.ts";
import type { StepTable } from "./run-steps.ts";
import { discardedOrdinals, volumesOf } from "./timelines.ts";
import { moveToTrash } from "./trash.ts";
import { detachImage } from "./volume.ts";

/** For a node that serves on its wanted timeline: the volumes of those that nobody will want again. */
export const discardSteps: StepTable = { name: "discard", steps: [{ name: "trash", percent: 100, run: discard }] };

async function discard({ host, spec, clock }: NodeContext): Promise<void> {
  for (const ordinal of discardedOrdinals(spec, await volumesOf(host, spec.node))) {
    const other = nodePaths(host, spec.node, ordinal);
    // It is not mounted: the wanted one is, at the same place.
    await detachImage(other.image);
    await moveToTrash(host.trash, other, spec, clock());
  }
}
