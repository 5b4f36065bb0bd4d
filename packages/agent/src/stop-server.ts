import { isAsynchronous } from "./cluster/following/decide-following.ts";
import { leaveGroup } from "./cluster/group-sql.ts";
import type { NodeContext } from "./node-context.ts";
import { forgetOpening } from "./node-state.ts";
import { containerName, settled } from "./podman.ts";

/** A member leaves its group first: otherwise the others take no writes until they have expelled it. */
export async function stopServer(context: NodeContext): Promise<void> {
  const { paths, spec, log } = context;
  if (spec.cluster !== undefined && !isAsynchronous(spec.cluster))
    // A member that does not answer, or is in no group, is stopped all the same.
    await leaveGroup(paths.socket).catch((error: unknown) =>
      log.warn({ error: String(error) }, "the server could not leave the group before its stop"),
    );
  await endServer(context);
}

/**
 * SIGTERM, then SIGKILL after a minute: after a clean end, the next start needs no recovery. The opening is forgotten
 * first, so that the stop of a primary is not taken for a crash.
 */
export async function endServer({ podman, paths, spec }: NodeContext): Promise<void> {
  if (isAsynchronous(spec.cluster)) await forgetOpening(paths);
  await settled(podman.client.getContainer(containerName(spec.node)).stop({ t: 60 }));
}
