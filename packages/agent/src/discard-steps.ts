import { nodePaths } from "./host-paths.ts";
import type { NodeContext } from "./node-context.ts";
import type { StepTable } from "./run-steps.ts";
import { discardedOrdinals, volumesOf } from "./timelines.ts";
import { moveToTrash } from "./trash.ts";
import { detachImage } from "./volume.ts";

/** For a node that serves on its desired timeline: moves volumes of timelines that are no longer kept to the trash. */
export const discardSteps: StepTable = { name: "discard", steps: [{ name: "trash", percent: 100, run: discard }] };

async function discard({ host, spec, clock }: NodeContext): Promise<void> {
  for (const ordinal of discardedOrdinals(spec, await volumesOf(host, spec.node))) {
    const other = nodePaths(host, spec.node, ordinal);
    // It is not mounted: the desired timeline's volume is, at the same place.
    await detachImage(other.image);
    await moveToTrash(host.trash, other, spec, clock());
  }
}
