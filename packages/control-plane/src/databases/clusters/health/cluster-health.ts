import type { DatabaseStatus } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import {
  type Condition,
  conditionOf,
  type HealthSettings,
  isReachable,
  type Judged,
  type ObservedMember,
} from "../member-condition.ts";
import { hasData, type NextOfPrimary, nextOfPrimary, type ObservedPrimary } from "./primary-health.ts";
import { texts } from "./texts.ts";

/** A member that comes back within this time is not reported as missing. */
const NOTICED_SECONDS = 5;
/** The wait after a failed repair. */
const AGAIN_SECONDS = 600;

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

/** No operation is under way, so the health check may set the status and start repairs. */
export const isAtHand = (status: DatabaseStatus): boolean => status === "active" || status === "degraded";

function nextOf(cluster: ObservedCluster, members: readonly Judged[]): Next {
  const next = nextWhenIdle(cluster, members);
  // Other operations need a primary too, and the previous data serve until a restore is done.
  if (cluster.status === "restoring" && cluster.asynch?.primary !== undefined)
    return duringRestore(next, cluster.asynch.primary, members);
  if (next.do === "promote") return next;
  if (next.do !== "replace" && next.do !== "bootstrap") return next;
  const mayAct =
    isAtHand(cluster.status) && !cluster.busy && (cluster.failedSeconds?.[next.do] ?? AGAIN_SECONDS) >= AGAIN_SECONDS;
  return mayAct ? next : { do: "wait" };
}

/**
 * The primary makes the restored data. If only its server ended, it is the primary again, with everything that it
 * acknowledged, and continues. A promotion that it cannot carry out at once is not withdrawn.
 */
function duringRestore(next: Next, { node, reason }: PrimaryTerm, members: readonly Judged[]): Next {
  if (next.do !== "promote") return next.do === "ask" || next.do === "restore" ? next : { do: "wait" };
  const own = members.find((member) => member.node === node);
  if (next.reason !== "fenced" || own === undefined || !hasData(own)) return next;
  return {
    do: "promote",
    node,
    ordinal: own.ordinal,
    reason: reason === "sole_survivor" ? reason : "fenced",
  };
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

const isNoticed = (members: readonly Judged[]): boolean =>
  members.some(
    ({ condition, unhealthySeconds }) =>
      condition === "lost" ||
      condition === "silent" ||
      (condition !== "healthy" && unhealthySeconds >= NOTICED_SECONDS),
  );

/**
 * The text for the tenant. It names no host, and changes only when the tenant's possibilities change, because each new
 * text is an event.
 */
function noticeOf(label: string, members: readonly Judged[], next: Next, primary?: PrimaryTerm): Text {
  const healthy = count(members, "healthy");
  if (healthy === 2) return texts.oneNodeDown({ label });
  // A reachable member shares its view with an unreachable one.
  if (healthy === 1) return texts.twoNodesUnseen({ label });
  if (next.do === "restore") return texts.restoreNeeded({ label });
  if (missingPrimary(members, primary) !== undefined) return texts.primaryUnreachable({ label });
  if (next.do === "ask") return texts.operatorMustDecide({ label });
  return texts.noMajority({ label });
}

const count = (members: readonly Judged[], condition: Condition): number =>
  members.filter((member) => member.condition === condition).length;

/** The primary, if it may be alive although it is unreachable. */
function missingPrimary(members: readonly Judged[], primary: PrimaryTerm | undefined): Judged | undefined {
  const own = members.find(({ node }) => node === primary?.node);
  return own === undefined || isReachable(own.host) || own.host.dead ? undefined : own;
}

const descriptions = {
  lost: texts.adviceNodeLost,
  broken: texts.adviceNodeBroken,
  out_of_group: texts.adviceNodeOutOfGroup,
  isolated: texts.adviceNodeIsolated,
  silent: texts.adviceNodeSilent,
  recovering: texts.adviceNodeRecovering,
};

/** The text for the operator: where the problem is, and what to do if anything. */
function adviceOf(members: readonly Judged[], next: Next, primary?: PrimaryTerm): Text {
  const where = members
    .flatMap(({ ordinal, host, condition, message }) =>
      condition === "healthy" ? [] : descriptions[condition]({ ordinal, host: host.name, message }).text,
    )
    .join("; ");
  switch (next.do) {
    case "replace":
      return texts.adviceReplacing({ where, ordinal: next.ordinal });
    case "bootstrap":
      return texts.adviceBootstrapping({ where });
    case "promote":
      return texts.advicePromoting({ where, ordinal: next.ordinal });
    case "restore":
      return texts.adviceRestore({ where });
    case "ask":
      return adviceToDecide(where, members, primary);
    case "nothing":
    case "wait":
    case "withdraw":
      return texts.adviceWait({ where });
  }
}

function adviceToDecide(where: string, members: readonly Judged[], primary: PrimaryTerm | undefined): Text {
  const missing = missingPrimary(members, primary);
  if (missing !== undefined) return texts.advicePrimaryUnreachable({ where, host: missing.host.name });
  const lost = members.filter(({ condition }) => condition === "lost").map(({ host }) => host);
  return texts.adviceHostsLost({
    where,
    lost: lost.map(({ name }) => name),
    notDead: lost.filter(({ dead }) => !dead).map(({ name }) => name),
  });
}
