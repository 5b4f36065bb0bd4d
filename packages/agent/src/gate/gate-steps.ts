import type { NodeContext } from "../node-context.ts";
import type { StepTable } from "../run-steps.ts";
import { endSessions } from "./end-sessions.ts";

/** For a node that serves, and of which only the list changed: nothing else of it is touched. */
export const gateSteps: StepTable = { name: "gate", steps: [{ name: "apply", percent: 100, run: applyGate }] };

/** First the kernel, then the sessions: whoever is thrown out cannot come in again. */
export async function applyGate({ gate, spec, paths, log }: NodeContext): Promise<void> {
  const ended = await endSessions(paths.socket, await gate.open(spec));
  if (ended > 0) log.info({ ended }, "sessions of sources that are not on the list were ended");
  gate.vouchFor(spec);
}
