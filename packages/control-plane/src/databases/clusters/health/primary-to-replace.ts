import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { conditionOf, isReachable, type ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";

/** The primary, if it cannot hand over: only then may a tenant promote another node. Pure. */
export function primaryToReplace(
  members: readonly ObservedMember[],
  primary: PrimaryTerm | undefined,
): ObservedMember | { refusal: Text } {
  const conditions = members.map((member) => conditionOf(member, { hostSilentSeconds: Infinity }));
  const own = members.find(({ node }) => node === primary?.node);
  if (primary === undefined || own === undefined || members.length < 3) return { refusal: texts.promoteNodesUnknown() };
  if (members.some(({ node }, n) => node !== own.node && conditions[n] === "healthy"))
    return { refusal: texts.promotePrimaryServes() };
  const hasEnded = conditions[members.indexOf(own)] === "broken" || (own.report?.fenced ?? 0) >= primary.term;
  // A server that has hung is not online, and nobody knows whether it comes back.
  if (isReachable(own.host) && own.report?.state === "online" && !hasEnded)
    return { refusal: texts.promotePrimaryReachable() };
  return own;
}
