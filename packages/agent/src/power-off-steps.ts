import { endSessions } from "./firewall/end-sessions.ts";
import { applyFirewall } from "./firewall/firewall-steps.ts";
import { isInhabited } from "./network.ts";
import type { NodeContext } from "./node-context.ts";
import type { StepTable } from "./run-steps.ts";
import { stopServer } from "./stop-server.ts";

const hasStopped = async ({ network }: NodeContext): Promise<boolean> => !(await isInhabited(network));

/** For a node that is to rest: its volume and its address stay, and what it wrote last is in the archive if it can be. */
export const powerOffSteps: StepTable = {
  name: "power-off",
  steps: [
    // First: what is shipped next is then all that its tenants wrote.
    { name: "firewall", percent: 20, run: closeFirewall },
    { name: "ship", percent: 60, done: hasStopped, run: shipTheRest },
    // Asked of the kernel: a container that only podman believes in cannot be stopped, and need not be.
    { name: "stop", percent: 100, done: hasStopped, run: stopServer },
  ],
};

/** A spec without power has no opening. A server that does not answer has no session to end, and is stopped next. */
async function closeFirewall(context: NodeContext): Promise<void> {
  const { firewall, spec, paths, log } = context;
  if (spec.cluster !== undefined) return applyFirewall(context);
  const nobody = await firewall.open(spec);
  await endSessions(paths.socket, nobody).catch((error: unknown) => log.debug({ error: String(error) }, "no sessions"));
  firewall.vouchFor(spec);
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
