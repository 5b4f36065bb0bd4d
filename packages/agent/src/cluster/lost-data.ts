import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { NodeContext } from "../node-context.ts";
import { recordUsed, timelineRecord } from "../node-state.ts";
import { exists } from "../volume.ts";

/** On this timeline the node had data of a group. */
export const wasMember = async ({ paths }: Pick<NodeContext, "paths">): Promise<boolean> =>
  (await timelineRecord(paths)).group !== undefined;

/**
 * A member whose volume is lost, or whose data are to come from the other members, starts with an empty volume and may
 * only re-clone. It needs no order for that: it may have been offline when the others received theirs.
 */
export async function recloneIfLost({ paths, spec }: Pick<NodeContext, "paths" | "spec">): Promise<void> {
  if (await exists(paths.image)) return;
  if (spec.data?.origin !== "cluster" && !(await wasMember({ paths }))) return;
  // Before the volume exists: an unrecorded empty volume would be taken for its data.
  await mkdir(paths.folder, { recursive: true, mode: 0o711 });
  await recordUsed(paths, { recloning: randomUUID() });
}
