import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { NodeContext } from "../node-context.ts";
import { recordUsed, timelineRecord } from "../node-state.ts";
import { exists } from "../volume.ts";

/** Its data, on this timeline, were a group's. */
export const wasMember = async ({ paths }: Pick<NodeContext, "paths">): Promise<boolean> =>
  (await timelineRecord(paths)).group !== undefined;

/**
 * A member whose volume is gone, or whose data are to come from the others, begins with an empty one, and may do nothing
 * with it but take another's data. Nobody has to tell it to: it may have been away when the others were told.
 */
export async function recloneIfLost({ paths, spec }: Pick<NodeContext, "paths" | "spec">): Promise<void> {
  if (await exists(paths.image)) return;
  if (spec.data?.origin !== "cluster" && !(await wasMember({ paths }))) return;
  // Before there is a volume: an empty one that nobody knows of would be taken for its data.
  await mkdir(paths.folder, { recursive: true, mode: 0o711 });
  await recordUsed(paths, { recloning: randomUUID() });
}
