import { agreedPrimary, type PrimaryTerm } from "@moorage/contract/agent";
import { isReachable, type ObservedMember } from "../member-condition.ts";

/** As reported by its own host and confirmed by another. */
export const isPrimary = ({ report }: Pick<ObservedMember, "report">): boolean =>
  report?.state === "online" && report.role === "primary" && report.shared;

/** All members follow the primary, and their hosts know its term. */
export const isAgreedInTerm = ({ node, term }: PrimaryTerm, members: readonly ObservedMember[]): boolean =>
  agreedPrimary(members) === node && members.every(({ report }) => report?.term === term);

/**
 * The end of an attempt. If the new member is primary, the term drops its condition; if not, the previous one becomes
 * primary again, in a higher term, because the other may still open late. An unreachable member cannot hand back: the
 * health check handles that. Undefined: there is nothing to do, or another member was made primary meanwhile. Pure.
 */
export function outcomeOfHandOver(
  primary: PrimaryTerm | undefined,
  requested: ObservedMember | undefined,
): { confirm: PrimaryTerm } | { back: Omit<PrimaryTerm, "term"> } | undefined {
  if (primary === undefined || primary.node !== requested?.node || primary.reason !== "handover") return undefined;
  const { node, from } = primary;
  if (isPrimary(requested)) return { confirm: primary };
  return from !== undefined && isReachable(requested.host)
    ? { back: { node: from, reason: "handover", from: node } }
    : undefined;
}
