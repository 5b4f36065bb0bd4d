import type { GroupReport, NodeState } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { texts } from "../texts.ts";
import { mostAdvanced } from "./most-advanced.ts";

/** A member while its group is bootstrapped. */
export type BootstrapMember = {
  node: string;
  ordinal: number;
  /** An operator has declared its host dead. */
  dead: boolean;
  /** Its host is reachable and reports that it has applied the current spec. */
  followed: boolean;
  state: NodeState | null;
  report: GroupReport | null;
  /** The permission to bootstrap that it has now. */
  bootstrap: string | undefined;
};

export type BootstrapDecision =
  | { do: "wait" }
  /** `gtid`: the transactions that the member has. */
  | { do: "bootstrap"; node: string; gtid: string }
  /** The permission was used and the group is gone again: withdraw it before another member gets one. */
  | { do: "withdraw" }
  | { do: "done" }
  | { do: "fail"; why: Text };

/**
 * The next step for members of which some are in no group. Two groups of one name would be two databases, so a
 * permission is given only when none is out and every member has reported, since the last withdrawal, that it is in no
 * group. Once one member is in a group, the others join it by themselves. Pure.
 */
export function nextOfBootstrap(members: readonly BootstrapMember[], acceptsLoss: boolean): BootstrapDecision {
  const counted = acceptsLoss ? members.filter(({ dead }) => !dead) : members;
  if (counted.length === 0) return { do: "fail", why: texts.bootstrapNoNodeLeft() };
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
  if (first === undefined) return { do: "fail", why: texts.bootstrapNodesDiverged() };
  return { do: "bootstrap", node: first.node, gtid: first.gtid };
}

/** With an assigned primary nobody bootstraps: the others follow it by themselves, or another is promoted. */
export const nextOfFollowing = (members: readonly BootstrapMember[]): BootstrapDecision =>
  isBootstrapped(members) ? { do: "done" } : { do: "wait" };

const isOutOfGroup = ({ state }: GroupReport): boolean => state === "offline" || state === "error";

/** A member with errant transactions or unusable data cannot join; it is replaced once the others serve. */
function isBootstrapped(members: readonly BootstrapMember[]): boolean {
  const others = members.filter(({ report }) => report?.errant === undefined && report?.unusable === undefined);
  const isIn = ({ followed, state, report }: BootstrapMember): boolean =>
    followed && state === "running" && report?.state === "online" && (report.shared || members.length === 1);
  return others.length > 0 && others.length >= Math.min(2, members.length) && others.every(isIn);
}
