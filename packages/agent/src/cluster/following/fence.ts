import { step } from "@moorage/crash-points";
import type { NodeContext } from "../../node-context.ts";
import { bootId } from "../../boot-id.ts";
import { isInhabited } from "../../network.ts";
import { recordUsed, type UsedIds, usedIds } from "../../node-state.ts";
import { NotYet, quietMs } from "../not-yet.ts";
import { recordSteps } from "../record-steps.ts";
import { isAsynchronous } from "./decide-following.ts";

type Spec = Pick<NodeContext["spec"], "node" | "cluster">;

/** The term in which it leads, of a leader; a member that is no leader has nothing to fence. */
const termOf = ({ node, cluster }: Spec): number | undefined =>
  isAsynchronous(cluster) && cluster?.primary?.node === node ? cluster.primary.term : undefined;

/** It took writes in this term until its server ended, and nobody here ended it: every stop of ours forgets the boot. */
export const diedAsPrimary = (spec: Spec, { opened }: UsedIds, boot: string): boolean =>
  opened !== undefined && opened.term === termOf(spec) && opened.boot === boot;

export const isFenced = (spec: Spec, { fenced }: UsedIds): boolean => (fenced ?? 0) >= (termOf(spec) ?? Infinity);

/**
 * Before a leader's server is started again. If the control plane hears of its end, another member leads, and this one
 * must not: that is on the disk before it is told. If it cannot hear, nobody else was made to lead, and it goes on.
 */
export async function fenceDeadPrimary(context: NodeContext): Promise<void> {
  const { spec, paths, network, gatewayAnswers, log } = context;
  const used = await usedIds(paths);
  if (!isFenced(spec, used)) {
    if (!diedAsPrimary(spec, used, await bootId()) || (await isInhabited(network))) return;
    if (!(await gatewayAnswers())) return log.warn("the leader ended, and the gateway does not answer: it leads on");
    const fenced = termOf(spec);
    await step(recordSteps.fence, () => recordUsed(paths, { ...(fenced !== undefined && { fenced }) }));
    log.warn({ fenced }, "the leader ended: it does not lead in this term again");
  }
  throw new NotYet("a newer term: its server ended while it led", quietMs);
}
