import type { GroupReport, NodeState } from "@moorage/contract/agent";
import { mostAdvanced } from "./most-advanced.ts";

/** A member while its group is formed. */
export type BootstrapMember = {
  node: string;
  ordinal: number;
  /** Its host is dead, by the operator's word. */
  dead: boolean;
  /** Its host is heard, and says that it has read what is wanted of the member now. */
  followed: boolean;
  state: NodeState | null;
  report: GroupReport | null;
  /** The permission to begin that it has now. */
  bootstrap: string | undefined;
};

export type BootstrapDecision =
  | { do: "wait" }
  /** With what it has. */
  | { do: "bootstrap"; node: string; gtid: string }
  /** Its permission was used, and its group is gone again: taken back before another is given. */
  | { do: "withdraw" }
  | { do: "done" }
  | { do: "fail"; why: string };

/**
 * What follows for members of which some are in no group. Two groups of one name would be two truths, so a permission is
 * only given when none is out, and every member has said, after the last one was taken back, that it is in no group.
 * Once one is in a group, the others join it by themselves. Pure.
 */
export function nextOfBootstrap(members: readonly BootstrapMember[], acceptsLoss: boolean): BootstrapDecision {
  const counted = acceptsLoss ? members.filter(({ dead }) => !dead) : members;
  if (counted.length === 0) return { do: "fail", why: "none of its nodes is left." };
  if (isBootstrapped(counted)) return { do: "done" };
  if (!counted.every(({ followed }) => followed)) return { do: "wait" };
  const holders = counted.flatMap(({ node, ordinal, report }) =>
    report?.gtid !== undefined && isOutOfGroup(report) ? [{ node, ordinal, gtid: report.gtid }] : [],
  );
  if (holders.length < counted.length) return { do: "wait" };

  const permitted = members.find(({ bootstrap }) => bootstrap !== undefined);
  if (permitted !== undefined)
    return permitted.report?.bootstrapped === permitted.bootstrap ? { do: "withdraw" } : { do: "wait" };
  const first = mostAdvanced(holders);
  if (first === undefined)
    return { do: "fail", why: "each of its nodes has something that another lacks. Ask the operator." };
  return { do: "bootstrap", node: first.node, gtid: first.gtid };
}

/** Where somebody leads already nobody begins: the others come to it by themselves, or another is made to lead. */
export const nextOfFollowing = (members: readonly BootstrapMember[]): BootstrapDecision =>
  isBootstrapped(members) ? { do: "done" } : { do: "wait" };

const isOutOfGroup = ({ state }: GroupReport): boolean => state === "offline" || state === "error";

/** A member with data of its own, or without what it needs, cannot join; it is replaced once the others serve. */
function isBootstrapped(members: readonly BootstrapMember[]): boolean {
  const others = members.filter(({ report }) => report?.errant === undefined && report?.unusable === undefined);
  const isIn = ({ followed, state, report }: BootstrapMember): boolean =>
    followed && state === "running" && report?.state === "online" && (report.shared || members.length === 1);
  return others.length > 0 && others.length >= Math.min(2, members.length) && others.every(isIn);
}
