import { endSessions } from "../firewall/end-sessions.ts";
import { applyFirewall } from "../access/firewall-steps.ts";
import { isInhabited } from "../node/network.ts";
import type { StepContext } from "./step-context.ts";
import type { StepTable } from "../base/run-steps.ts";
import { stopServer } from "../replication/member-steps.ts";

const hasStopped = async ({ network }: StepContext): Promise<boolean> => !(await isInhabited(network));

/** For a node to be powered off: its volume and address stay, and its last writes are archived if possible. */
export const powerOffSteps: StepTable<StepContext> = {
  name: "power-off",
  steps: [
    // First: what is shipped next then contains every write of its tenants.
    { name: "firewall", percent: 20, run: closeFirewall },
    { name: "ship", percent: 60, done: hasStopped, run: shipTheRest },
    // Read from the kernel: a container that only podman believes to be running cannot be stopped, and need not be.
    { name: "stop", percent: 100, done: hasStopped, run: stopServer },
  ],
};

/** A spec without power has no opening. An unreachable server has no session to end, and is stopped next. */
async function closeFirewall(context: StepContext): Promise<void> {
  const { firewall, spec, paths, log } = context;
  if (spec.cluster !== undefined) return applyFirewall(context);
  const nobody = await firewall.open(spec);
  await endSessions(paths.socket, nobody).catch((error: unknown) =>
    log.debug({ error: String(error) }, "sessions could not be ended"),
  );
  firewall.vouchFor(spec);
}

const shipWithinMs = 60_000;

/** An unreachable store does not block the power-off: unshipped data are on the volume and go at the next start. */
async function shipTheRest({ shipNow, spec, log }: StepContext): Promise<void> {
  if (shipNow === undefined || spec.archive === undefined) return;
  try {
    await shipNow(spec.node, AbortSignal.timeout(shipWithinMs));
  } catch (error) {
    log.warn({ error: String(error) }, "the last binary logs could not be shipped to the archive");
  }
}
