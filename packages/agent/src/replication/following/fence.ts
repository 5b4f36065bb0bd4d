import { step } from "@moorage/crash-points";
import { type MemberContext, recordSteps } from "../member/member-context.ts";
import { bootId } from "../../base/boot-id.ts";
import { isInhabited } from "../../node/network.ts";
import { recordUsed, type UsedIds, usedIds } from "../../specs/node-state.ts";
import { NotYet, quietMs } from "../../base/try-again.ts";
import { isAsynchronous } from "../../specs/member.ts";

type Spec = Pick<MemberContext["spec"], "node" | "cluster">;

/** The term in which this member is the primary; a replica has nothing to fence. */
const termOf = ({ node, cluster }: Spec): number | undefined =>
  isAsynchronous(cluster) && cluster?.primary?.node === node ? cluster.primary.term : undefined;

/** It took writes in this term until its server ended, and the agent did not end it: each stop removes the boot id. */
export const diedAsPrimary = (spec: Spec, { opened }: UsedIds, boot: string): boolean =>
  opened !== undefined && opened.term === termOf(spec) && opened.boot === boot;

export const isFenced = (spec: Spec, { fenced }: UsedIds): boolean => (fenced ?? 0) >= (termOf(spec) ?? Infinity);

/**
 * Runs before a primary's server is restarted. If the control plane learns of its end, it promotes another member and
 * this one must not continue: that is on the disk before it is reported. If the gateway is unreachable, no other member
 * was promoted, and this one continues.
 */
export async function fenceDeadPrimary(context: MemberContext): Promise<void> {
  const { spec, paths, network, gatewayAnswers, log } = context;
  const used = await usedIds(paths);
  if (!isFenced(spec, used)) {
    if (!diedAsPrimary(spec, used, await bootId()) || (await isInhabited(network))) return;
    if (!(await gatewayAnswers()))
      return log.warn("the server of the primary ended while the gateway is unreachable: it stays the primary");
    const fenced = termOf(spec);
    await step(recordSteps.fence, () => recordUsed(paths, { ...(fenced !== undefined && { fenced }) }));
    log.warn({ fenced }, "the server of the primary ended: it is fenced and not the primary again in this term");
  }
  throw new NotYet("a newer term: the server ended while it was the primary", quietMs);
}
