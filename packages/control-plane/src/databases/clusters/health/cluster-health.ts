import type { DatabaseStatus } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import { adviceOf, sentenceOf } from "./health-sentences.ts";
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
  /** Undefined for a group, which elects by itself. */
  asynch?: ObservedPrimary;
  /** Some operation of it is under way. */
  busy: boolean;
  /** Since one of the same was given up. */
  failedSeconds?: { replace?: number; bootstrap?: number };
};

/** A member that comes back within it was never missed. */
const NOTICED_SECONDS = 5;
/** After a mending that failed. */
const AGAIN_SECONDS = 600;

/** Nothing else is done with the database, so that its health may say what it is, and be mended. */
export const isAtHand = (status: DatabaseStatus): boolean => status === "active" || status === "degraded";

export type Next =
  | { do: "nothing" }
  | { do: "replace"; node: string; ordinal: number }
  | { do: "bootstrap" }
  /** To wait, to have another lead, or to ask a person. */
  | NextOfPrimary;

export type Health = {
  healthy: number;
  /** What the database's status should be. */
  status: DatabaseStatus;
  next: Next;
  /** Null: it is well. */
  tenant: string | null;
  operator: string | null;
};

/** What is to be said of a cluster, and the one thing to do next. Pure: it decides, others do. */
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
    ...{ healthy, status: "degraded", next },
    tenant: sentenceOf(cluster.label, members, next, primary),
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
  // Whatever else is under way needs a leader too; but a restore makes data in which nobody led yet.
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
  // Two truths could come of it: the one that is away may have had more than those that told.
  if (asynch === undefined && all("out_of_group", "lost") && !all("lost")) return { do: "ask" };
  return { do: "wait" };
}

/** Given up, by us and by its group: and the two others hold everything, so that nothing is lost with it. */
function isGone(member: Judged, members: readonly Judged[], primary: PrimaryTerm | undefined): boolean {
  const others = members.filter((other) => other !== member);
  if (member.condition !== "lost" && member.condition !== "broken") return false;
  const counted = Math.max(...others.map(({ report }) => report?.online ?? 0));
  if (others.every(({ condition }) => condition === "healthy"))
    return member.condition === "broken" || member.host.dead || counted < members.length;
  return (member.condition === "broken" && includesPrimary(others, primary)) || isLastButOne(member, others, primary);
}

/** What its leader does not have does not count, whoever else has it: two that strayed from it are made anew in turn. */
const includesPrimary = (others: readonly Judged[], primary: PrimaryTerm | undefined): boolean =>
  others.some(({ node, condition }) => node === primary?.node && (condition === "isolated" || condition === "healthy"));

/** A person began the cluster anew with one member, and said that the hosts of both others are dead. */
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
