import { decide } from "../decide.ts";
import { groupSteps } from "../cluster/group-steps.ts";
import { firewallSteps } from "../firewall/firewall-steps.ts";
import { gather, type SeenContainer } from "../gather.ts";
import type { NodeContext } from "../node-context.ts";
import { powerOffSteps } from "../power-off-steps.ts";
import { provisionSteps } from "../provision-steps.ts";
import { runSteps, type StepTable } from "../run-steps.ts";

/** Keeps the previous timeline's server converged while the data of the next one are being restored. */
export async function serveMeanwhile(context: NodeContext, seen: SeenContainer | undefined): Promise<void> {
  const { kind } = decide(context.spec, await gather(context, seen));
  const tables = { provision: provisionSteps, group: groupSteps, firewall: firewallSteps, "power-off": powerOffSteps };
  const table = tables[kind as keyof typeof tables] as StepTable | undefined;
  if (table === undefined) return;
  context.log.info({ kind, ordinal: context.paths.ordinal }, "serving the previous timeline meanwhile");
  await runSteps(table, context, () => {});
}
