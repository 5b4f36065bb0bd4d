import { hasGate } from "../cluster-gate/cluster-gates.ts";
import { gatekeeperKnows, tellGatekeeper } from "../gatekeeper/cluster-file.ts";
import type { NodeContext } from "../node-context.ts";
import type { StepTable } from "../run-steps.ts";
import { endSessions } from "./end-sessions.ts";
import type { Sources } from "./sources.ts";

/** For a node that serves, and of which only the list changed: nothing else of it is touched. */
export const gateSteps: StepTable = { name: "gate", steps: [{ name: "apply", percent: 100, run: applyGate }] };

/** First the kernel, then the sessions: whoever is thrown out cannot come in again. */
export async function applyGate(context: NodeContext): Promise<void> {
  const { gate, spec, log } = context;
  await meetPeers(context);
  const ended = await endOthersSessions(context, await gate.open(spec));
  if (ended > 0) log.info({ ended }, "sessions of sources that are not on the list were ended");
  gate.vouchFor(spec);
}

/** The list is in force and its peers are let in; a member's gate leads to the members that it should. */
export const isGateRight = async ({ gate, clusterGates, host, spec }: NodeContext): Promise<boolean> =>
  gate.isVouchedFor(spec) &&
  gate.letsPeers(spec) &&
  (await gatekeeperKnows(host, spec)) &&
  (await clusterGates.isRight(spec));

/** The gatekeeper first: it says no to a member of which it knows nothing, and leads nobody to one that was replaced. */
async function meetPeers({ gate, clusterGates, host, spec }: NodeContext): Promise<void> {
  if (spec.cluster === undefined) return;
  await tellGatekeeper(host, spec);
  await gate.letPeers(spec);
  await clusterGates.apply(spec);
}

function endOthersSessions({ clusterGates, spec, paths }: NodeContext, sources: Sources): Promise<number> {
  if (spec.cluster === undefined) return endSessions(paths.socket, sources);
  // A member's are with its gate, and have ended with it.
  return hasGate(spec) ? clusterGates.endSessions(spec, sources) : Promise.resolve(0);
}
