import { leaveGroup } from "./cluster/group-sql.ts";
import { endSessions } from "./gate/end-sessions.ts";
import { applyGate } from "./gate/gate-steps.ts";
import { isInhabited } from "./network.ts";
import type { NodeContext } from "./node-context.ts";
import { containerName, settled } from "./podman.ts";
import type { StepTable } from "./run-steps.ts";

const hasStopped = async ({ network }: NodeContext): Promise<boolean> => !(await isInhabited(network));

/** For a node that is to rest: its volume and its address stay, and what it wrote last is in the archive if it can be. */
export const powerOffSteps: StepTable = {
  name: "power-off",
  steps: [
    // First: what is shipped next is then all that its tenants wrote.
    { name: "gate", percent: 20, run: closeGate },
    { name: "ship", percent: 60, done: hasStopped, run: shipTheRest },
    // Told, the others need not miss it first.
    { name: "leave", percent: 70, done: async (context) => !context.spec.cluster || hasStopped(context), run: leave },
    {
      name: "stop",
      percent: 100,
      // Asked of the kernel: a container that only podman believes in cannot be stopped, and need not be.
      done: hasStopped,
      // SIGTERM, then SIGKILL after a minute: a clean end makes the next start one without recovery.
      run: ({ podman, spec }) => settled(podman.client.getContainer(containerName(spec.node)).stop({ t: 60 })),
    },
  ],
};

/** A spec without power has no opening. A server that does not answer has no session to end, and is stopped next. */
async function closeGate(context: NodeContext): Promise<void> {
  const { gate, spec, paths, log } = context;
  if (spec.cluster !== undefined) return applyGate(context);
  const nobody = await gate.open(spec);
  await endSessions(paths.socket, nobody).catch((error: unknown) => log.debug({ error: String(error) }, "no sessions"));
  gate.vouchFor(spec);
}

/** One that does not answer, or is in no group, is stopped all the same. */
async function leave({ paths, log }: NodeContext): Promise<void> {
  await leaveGroup(paths.socket).catch((error: unknown) =>
    log.warn({ error: String(error) }, "the group was not left"),
  );
}

const shipWithinMs = 60_000;

/** A store that is away keeps nobody from resting: what was not shipped is on the volume, and goes when it runs again. */
async function shipTheRest({ shipNow, spec, log }: NodeContext): Promise<void> {
  if (shipNow === undefined || spec.archive === undefined) return;
  try {
    await shipNow(spec.node, AbortSignal.timeout(shipWithinMs));
  } catch (error) {
    log.warn({ error: String(error) }, "the last binary logs were not shipped");
  }
}
