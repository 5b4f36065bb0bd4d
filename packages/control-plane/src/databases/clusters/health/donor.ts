import { conditionOf, type HealthSettings, isReachable, type ObservedMember } from "./member-condition.ts";

/** Longer than a failover or the restart of a host. */
const STOPPED_SECONDS = 120;

/** The member to clone from: a secondary rather than the primary, which serves clients. */
export function donorOf(members: readonly ObservedMember[], node: string): { donor?: string } {
  const others = members.filter((member) => member.node !== node && isReachable(member.host));
  const online = others.filter(({ report }) => report?.state === "online");
  const donor = online.find(({ report }) => report?.role === "secondary") ?? online[0];
  return donor === undefined ? {} : { donor: donor.node };
}

/** The member has been unable to serve as a donor for more than a moment. */
export function hasStopped(member: ObservedMember, settings: HealthSettings): boolean {
  const condition = conditionOf(member, settings);
  if (condition === "lost" || condition === "broken") return true;
  return (condition === "out_of_group" || condition === "recovering") && member.unhealthySeconds >= STOPPED_SECONDS;
}
