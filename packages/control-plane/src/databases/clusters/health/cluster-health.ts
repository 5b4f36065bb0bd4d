import type { DatabaseStatus } from "@moorage/contract";
import type { GroupReport, NodeState } from "@moorage/contract/agent";
import { adviceOf, sentenceOf } from "./health-sentences.ts";

/** A member as its host, and the silence of its host, show it. */
export type MemberSeen = {
  node: string;
  ordinal: number;
  host: { name: string; dead: boolean; silentSeconds: number };
  state: NodeState | null;
  message: string | null;
  report: GroupReport | null;
  /** Since its host said so; 0 while it says that it is well, or has said nothing. */
  unhealthySeconds: number;
};

export type ClusterSeen = {
  label: string;
  status: DatabaseStatus;
  powered: boolean;
  members: readonly MemberSeen[];
  /** Some operation of it is under way. */
  busy: boolean;
  /** Since one of the same was given up. */
  failedSeconds?: { replace?: number; form?: number };
};

export type HealthSettings = {
  /** A host that is silent longer is given up, if the group has given up its member too. */
  hostSilentSeconds: number;
};

/** A host that missed three polls: what it said last is not believed any more. */
const HEARD_SECONDS = 30;
export const isHeard = ({ dead, silentSeconds }: MemberSeen["host"]): boolean => !dead && silentSeconds < HEARD_SECONDS;
/** A member that comes back within it was never missed. */
const NOTICED_SECONDS = 5;
/** What a host calls failed, or errant, is looked at once more before it is thrown away. */
const BROKEN_SECONDS = 30;
/** After a mending that failed. */
const AGAIN_SECONDS = 600;

/**
 * `healthy`: in the group, in a view that another host shares. `lost`: its host is. `broken`: its data are. `apart`: in no
 * group, and it told what it has. `alone`: in a group with nobody. `silent`: its host is, for a while. `coming`: else.
 */
export type Condition = "healthy" | "lost" | "broken" | "apart" | "alone" | "silent" | "coming";

export function conditionOf(member: MemberSeen, { hostSilentSeconds }: HealthSettings): Condition {
  const { host, state, report, unhealthySeconds } = member;
  if (host.dead || host.silentSeconds >= hostSilentSeconds) return "lost";
  if (!isHeard(host)) return "silent";
  const isBroken = state === "failed" || report?.errant !== undefined;
  if (isBroken) return unhealthySeconds >= BROKEN_SECONDS ? "broken" : "coming";
  if (report === null) return "coming";
  if (report.state === "online") return !report.shared ? "alone" : state === "running" ? "healthy" : "coming";
  return report.gtid !== undefined && isApart(report) ? "apart" : "coming";
}

/** Nothing else is done with the database, so that its health may say what it is, and be mended. */
export const isAtHand = (status: DatabaseStatus): boolean => status === "active" || status === "degraded";

const isApart = ({ state }: GroupReport): boolean => state === "offline" || state === "error";

export type Next =
  | { do: "nothing" }
  | { do: "wait" }
  | { do: "replace"; node: string; ordinal: number }
  | { do: "form" }
  /** Only a person can say what is lost. */
  | { do: "ask" };

export type Judged = MemberSeen & { condition: Condition };
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
export function judgeCluster(cluster: ClusterSeen, settings: HealthSettings): Health {
  const members = cluster.members.map((member): Judged => ({ ...member, condition: conditionOf(member, settings) }));
  const healthy = members.filter(({ condition }) => condition === "healthy").length;
  const isWell = healthy === members.length;
  const next = isWell || !cluster.powered ? ({ do: "nothing" } as const) : nextOf(cluster, members);
  const isIdle = isAtHand(cluster.status);
  if (!isIdle || !cluster.powered || isWell || (cluster.status === "active" && !isNoticed(members)))
    return { healthy, status: isIdle && isWell ? "active" : cluster.status, next, tenant: null, operator: null };
  return {
    ...{ healthy, status: "degraded", next },
    tenant: sentenceOf(cluster.label, members, next),
    operator: adviceOf(members, next),
  };
}

const isNoticed = (members: readonly Judged[]): boolean =>
  members.some(
    ({ condition, unhealthySeconds }) =>
      condition === "lost" ||
      condition === "silent" ||
      (condition !== "healthy" && unhealthySeconds >= NOTICED_SECONDS),
  );

function nextOf(cluster: ClusterSeen, members: readonly Judged[]): Next {
  const wanted = nextWhenIdle(members);
  if (wanted.do !== "replace" && wanted.do !== "form") return wanted;
  const mayAct =
    isAtHand(cluster.status) && !cluster.busy && (cluster.failedSeconds?.[wanted.do] ?? AGAIN_SECONDS) >= AGAIN_SECONDS;
  return mayAct ? wanted : { do: "wait" };
}

function nextWhenIdle(members: readonly Judged[]): Next {
  const all = (...conditions: Condition[]): boolean => members.every(({ condition }) => conditions.includes(condition));
  if (all("apart")) return { do: "form" };
  const gone = members.find((member) => isGone(member, members));
  if (gone !== undefined) return { do: "replace", node: gone.node, ordinal: gone.ordinal };
  // Two truths could come of it: the one that is away may have had more than those that told.
  if (all("apart", "lost") && !all("lost")) return { do: "ask" };
  return { do: "wait" };
}

/** Given up, by us and by its group: and the two others hold everything, so that nothing is lost with it. */
function isGone(member: Judged, members: readonly Judged[]): boolean {
  const others = members.filter((other) => other !== member);
  if (member.condition !== "lost" && member.condition !== "broken") return false;
  const counted = Math.max(...others.map(({ report }) => report?.online ?? 0));
  if (others.every(({ condition }) => condition === "healthy"))
    return member.condition === "broken" || member.host.dead || counted < members.length;
  return isLastButOne(member, others);
}

/** A person began the group anew with one member, and said that the hosts of both others are dead. */
const isLastButOne = (member: Judged, others: readonly Judged[]): boolean =>
  member.host.dead &&
  others.filter(({ host }) => host.dead).length === others.length - 1 &&
  others.some(({ condition, report }) => condition === "alone" && report?.online === 1 && report.began !== undefined);
