import { countMissing, type GroupReport, type NodeState, parseGtidSet } from "@moorage/contract/agent";

/** A member as its host, and the silence of its host, show it. */
export type ObservedMember = {
  node: string;
  ordinal: number;
  host: { name: string; dead: boolean; silentSeconds: number };
  state: NodeState | null;
  message: string | null;
  report: GroupReport | null;
  /** Since its host said so; 0 while it says that it is well, or has said nothing. */
  unhealthySeconds: number;
  /** It is to take all data anew: what it has until then does not count. */
  recloning?: boolean;
};

export type HealthSettings = {
  /** A host that is silent longer is given up, if the group has given up its member too. */
  hostSilentSeconds: number;
};

/** A host that missed three polls: what it said last is not believed any more. */
const REACHABLE_SECONDS = 30;
export const isReachable = ({ dead, silentSeconds }: ObservedMember["host"]): boolean =>
  !dead && silentSeconds < REACHABLE_SECONDS;
/** What a host calls failed, or errant, is looked at once more before it is thrown away. */
const BROKEN_SECONDS = 30;

/**
 * `healthy`: in the group, in a view that another host shares. `lost`: its host is. `broken`: its data are. `apart`: in no
 * group, and it told what it has. `alone`: in a group with nobody. `silent`: its host is, for a while. `coming`: else.
 */
export type Condition = "healthy" | "lost" | "broken" | "out_of_group" | "isolated" | "silent" | "recovering";
export type Judged = ObservedMember & { condition: Condition };

export function conditionOf(member: ObservedMember, { hostSilentSeconds }: HealthSettings): Condition {
  const { host, state, report, unhealthySeconds } = member;
  if (host.dead || host.silentSeconds >= hostSilentSeconds) return "lost";
  if (!isReachable(host)) return "silent";
  if (state === "failed" || isUseless(report)) return unhealthySeconds >= BROKEN_SECONDS ? "broken" : "recovering";
  if (report === null || report.errant !== undefined) return "recovering";
  if (report.state === "online") return !report.shared ? "isolated" : state === "running" ? "healthy" : "recovering";
  return report.gtid !== undefined && isOutOfGroup(report) ? "out_of_group" : "recovering";
}

/** It cannot go on with the data that it has, and nobody needs them any more. */
const isUseless = (report: GroupReport | null): boolean =>
  report?.unusable !== undefined || (report?.errant !== undefined && isSaved(report, report.errant));

/** In a group nothing was acknowledged of what it alone has. A former leader did acknowledge it: it is kept first. */
export const isSaved = ({ term, saved_errant }: GroupReport, errant: string): boolean =>
  term === undefined ||
  (saved_errant !== undefined && countMissing(parseGtidSet(errant), parseGtidSet(saved_errant.gtid)) === 0);

const isOutOfGroup = ({ state }: GroupReport): boolean => state === "offline" || state === "error";
