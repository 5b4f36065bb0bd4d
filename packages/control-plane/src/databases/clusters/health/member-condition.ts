import { countMissing, type GroupReport, type NodeState, parseGtidSet } from "@moorage/contract/agent";

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
  /** It is to take all data anew: what it has until then does not count. */
  renews?: boolean;
};

export type HealthSettings = {
  /** A host that is silent longer is given up, if the group has given up its member too. */
  hostSilentSeconds: number;
};

/** A host that missed three polls: what it said last is not believed any more. */
const HEARD_SECONDS = 30;
export const isHeard = ({ dead, silentSeconds }: MemberSeen["host"]): boolean => !dead && silentSeconds < HEARD_SECONDS;
/** What a host calls failed, or errant, is looked at once more before it is thrown away. */
const BROKEN_SECONDS = 30;

/**
 * `healthy`: in the group, in a view that another host shares. `lost`: its host is. `broken`: its data are. `apart`: in no
 * group, and it told what it has. `alone`: in a group with nobody. `silent`: its host is, for a while. `coming`: else.
 */
export type Condition = "healthy" | "lost" | "broken" | "apart" | "alone" | "silent" | "coming";
export type Judged = MemberSeen & { condition: Condition };

export function conditionOf(member: MemberSeen, { hostSilentSeconds }: HealthSettings): Condition {
  const { host, state, report, unhealthySeconds } = member;
  if (host.dead || host.silentSeconds >= hostSilentSeconds) return "lost";
  if (!isHeard(host)) return "silent";
  if (state === "failed" || isUseless(report)) return unhealthySeconds >= BROKEN_SECONDS ? "broken" : "coming";
  if (report === null || report.errant !== undefined) return "coming";
  if (report.state === "online") return !report.shared ? "alone" : state === "running" ? "healthy" : "coming";
  return report.gtid !== undefined && isApart(report) ? "apart" : "coming";
}

/** It cannot go on with the data that it has, and nobody needs them any more. */
const isUseless = (report: GroupReport | null): boolean =>
  report?.stray !== undefined || (report?.errant !== undefined && isSaved(report, report.errant));

/** In a group nothing was acknowledged of what it alone has. A former leader did acknowledge it: it is kept first. */
export const isSaved = ({ term, tail }: GroupReport, errant: string): boolean =>
  term === undefined || (tail !== undefined && countMissing(parseGtidSet(errant), parseGtidSet(tail.gtid)) === 0);

const isApart = ({ state }: GroupReport): boolean => state === "offline" || state === "error";
