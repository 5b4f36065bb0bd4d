import type { DatabaseStatus } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { adviceOf, noticeOf } from "./health-sentences.ts";
import { type ObservedPrimary, type NextOfPrimary, nextOfPrimary } from "./primary-health.ts";
import {
  type Condition,
  conditionOf,
  type HealthSettings,
  type Judged,
  type ObservedMember,
} from "./member-condition.ts";

export type ObservedCluster = {
  label: string;
  status: DatabaseStatus;
  powered: boolean;
  members: readonly ObservedMember[];
  /** Undefined for a group, which elects its primary itself. */
  asynch?: ObservedPrimary;
  /** An operation of the database is open. */
  busy: boolean;
  /** Time since a repair of the same kind failed. */
  failedSeconds?: { replace?: number; bootstrap?: number };
};

/** A member that comes back within this time is not reported as missing. */
const NOTICED_SECONDS = 5;
/** The wait after a failed repair. */
const AGAIN_SECONDS = 600;

/** No operation is under way, so the health check may set the status and start repairs. */
export const isAtHand = (status: DatabaseStatus): boolean => status === "active" || status === "degraded";

export type Next =
  | { do: "nothing" }
  | { do: "replace"; node: string; ordinal: number }
  | { do: "bootstrap" }
  /** Wait, promote another member, or ask a person. */
  | NextOfPrimary;

export type Health = {
  healthy: number;
  /** What the database's status should be. */
  status: DatabaseStatus;
  next: Next;
  /** Null: the cluster is healthy. */
  tenant: Text | null;
  operator: Text | null;
};

/** The messages about a cluster, and the next action. Pure: others act on it. */
export function judgeCluster(cluster: ObservedCluster, settings: HealthSettings): Health {
  const members = cluster.members.map((member): Judged => ({ ...member, condition: conditionOf(member, settings) }));
  const healthy = members.filter(({ condition }) => condition === "healthy").length;
  const isWell = healthy === members.length;
  const next = isWell || !cluster.powered ? ({ do: "nothing" } as const) : nextOf(cluster, members);
  const isIdle = isAtHand(cluster.status);
  if (!isIdle || !cluster.powered || isWell || (cluster.status === "active" && !isNoticed(members)))
    return { healthy, status: isIdle && isWell ? "active" : cluster.status, next, tenant: null, operator: null };
  const primary = cluster.asynch?.primary;
  return {
    healthy,
    status: "degraded",
    next,
    tenant: noticeOf(cluster.label, members, next, primary),
    operator: adviceOf(members, next, primary),
  };
}

const isNoticed = (members: readonly Judged[]): boolean =>
  members.some(
    ({ condition, unhealthySeconds }) =>
      condition === "lost" ||
      condition === "silent" ||
      (condition !== "healthy" && unhealthySeconds >= NOTICED_SECONDS),
  );

function nextOf(cluster: ObservedCluster, members: readonly Judged[]): Next {
  const next = nextWhenIdle(cluster, members);
  // Other operations need a primary too. Only a restore waits: nobody has been primary of its data yet.
  if (next.do === "promote") return cluster.status === "restoring" ? { do: "wait" } : next;
  if (next.do !== "replace" && next.do !== "bootstrap") return next;
  const mayAct =
    isAtHand(cluster.status) && !cluster.busy && (cluster.failedSeconds?.[next.do] ?? AGAIN_SECONDS) >= AGAIN_SECONDS;
  return mayAct ? next : { do: "wait" };
}

function nextWhenIdle({ asynch }: ObservedCluster, members: readonly Judged[]): Next {
  const ofPrimary = asynch && nextOfPrimary(asynch, members);
  if (ofPrimary !== undefined) return ofPrimary;
  const all = (...conditions: Condition[]): boolean => members.every(({ condition }) => conditions.includes(condition));
  if (asynch === undefined && all("out_of_group")) return { do: "bootstrap" };
  const primary = asynch?.primary;
  const gone = members.find((member) => member.node !== primary?.node && isGone(member, members, primary));
  if (gone !== undefined) return { do: "replace", node: gone.node, ordinal: gone.ordinal };
  // The lost member may have had more than those that reported: bootstrapping without it could fork the data.
  if (asynch === undefined && all("out_of_group", "lost") && !all("lost")) return { do: "ask" };
  return { do: "wait" };
}

/**
 * The control plane and the group have given up the member, and the two others have everything, so nothing is lost with
 * it.
 */
function isGone(member: Judged, members: readonly Judged[], primary: PrimaryTerm | undefined): boolean {
  const others = members.filter((other) => other !== member);
  if (member.condition !== "lost" && member.condition !== "broken") return false;
  const counted = Math.max(...others.map(({ report }) => report?.online ?? 0));
  if (others.every(({ condition }) => condition === "healthy"))
    return member.condition === "broken" || member.host.dead || counted < members.length;
  return (member.condition === "broken" && includesPrimary(others, primary)) || isLastButOne(member, others, primary);
}

/** Only what the primary has counts: two members that diverged from it are recloned one after the other. */
const includesPrimary = (others: readonly Judged[], primary: PrimaryTerm | undefined): boolean =>
  others.some(({ node, condition }) => node === primary?.node && (condition === "isolated" || condition === "healthy"));

/** An operator bootstrapped the cluster again with one member, and declared the hosts of both others dead. */
const isLastButOne = (member: Judged, others: readonly Judged[], primary: PrimaryTerm | undefined): boolean =>
  member.host.dead &&
  others.filter(({ host }) => host.dead).length === others.length - 1 &&
  others.some(
    ({ node, condition, report }) =>
      condition === "isolated" &&
      report?.online === 1 &&
      (primary === undefined
        ? report.bootstrapped !== undefined
        : primary.node === node && primary.reason === "sole_survivor"),
  );
