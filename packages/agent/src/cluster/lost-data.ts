import { randomUUID } from "node:crypto";
import type { NodeContext } from "../node-context.ts";
import { recordUsed, timelineRecord } from "../node-state.ts";
import { exists } from "../volume.ts";

type Context = Pick<NodeContext, "paths">;

/** Its data, on this timeline, were a group's. */
export const wasMember = async ({ paths }: Context): Promise<boolean> =>
  (await timelineRecord(paths)).group !== undefined;

/** A member whose volume is gone begins with an empty one, and may do nothing with it but take another's data. */
export async function renewIfLost({ paths }: Context): Promise<void> {
  if (!(await exists(paths.image)) && (await wasMember({ paths }))) await recordUsed(paths, { renewing: randomUUID() });
}
