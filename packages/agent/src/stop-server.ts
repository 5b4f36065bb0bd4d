import { leaveGroup } from "./cluster/group-sql.ts";
import type { NodeContext } from "./node-context.ts";
import { containerName, settled } from "./podman.ts";

/**
 * SIGTERM, then SIGKILL after a minute: a clean end makes the next start one without recovery. A member leaves its group
 * first: the others take no writes for as long as they have to miss it.
 */
export async function stopServer({ podman, paths, spec, log }: NodeContext): Promise<void> {
  if (spec.cluster !== undefined)
    // One that does not answer, or is in no group, is stopped all the same.
    await leaveGroup(paths.socket).catch((error: unknown) =>
      log.warn({ error: String(error) }, "the group was not left"),
    );
  await settled(podman.client.getContainer(containerName(spec.node)).stop({ t: 60 }));
}
