import { chooseDonor } from "@moorage/contract/agent";
import { conditionOf, type HealthSettings, isReachable, type ObservedMember } from "./member-condition.ts";

/** Longer than a failover or the restart of a host. */
const STOPPED_SECONDS = 120;

export function donorOf(members: readonly ObservedMember[], node: string): { donor?: string } {
  const others = members.filter((member) => member.node !== node && isReachable(member.host));
  const online = others.filter(({ report }) => report?.state === "online");
  const donor = chooseDonor(online.map((member) => ({ node: member.node, role: member.report?.role })));
  return donor === undefined ? {} : { donor };
}

/** The member has been unable to serve as a donor for more than a moment. */
export function hasStopped(member: ObservedMember, settings: HealthSettings): boolean {
  const condition = conditionOf(member, settings);
  if (condition === "lost" || condition === "broken") return true;
  return (condition === "out_of_group" || condition === "recovering") && member.unhealthySeconds >= STOPPED_SECONDS;
}
