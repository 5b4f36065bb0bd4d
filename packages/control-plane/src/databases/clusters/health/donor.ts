import { conditionOf, type HealthSettings, isHeard, type MemberSeen } from "./member-condition.ts";

/** Longer than a failover, or the restart of a host, lasts. */
const STOPPED_SECONDS = 120;

/** Whose data a member takes: a secondary's rather than the primary's, which has tenants to serve. */
export function donorOf(members: readonly MemberSeen[], node: string): { donor?: string } {
  const others = members.filter((member) => member.node !== node && isHeard(member.host));
  const online = others.filter(({ report }) => report?.state === "online");
  const donor = online.find(({ report }) => report?.role === "secondary") ?? online[0];
  return donor === undefined ? {} : { donor: donor.node };
}

/** It has nothing to give, and not just for a moment. */
export function hasStopped(member: MemberSeen, settings: HealthSettings): boolean {
  const condition = conditionOf(member, settings);
  if (condition === "lost" || condition === "broken") return true;
  return (condition === "apart" || condition === "coming") && member.unhealthySeconds >= STOPPED_SECONDS;
}
