import { countMissing, type GroupReport, type NodeState, parseGtidSet } from "@moorage/contract/agent";

/**
 * A member as its host reports it, and how long that host has been silent. Our own outage does not count as silence
 * (`silentSeconds`), but nothing that was reported before it is certain any more (`unseenSeconds`).
 */
export type ObservedMember = {
  node: string;
  ordinal: number;
  host: { name: string; dead: boolean; silentSeconds: number; unseenSeconds: number };
  state: NodeState | null;
  message: string | null;
  report: GroupReport | null;
  /** Since its host reported it unhealthy; 0 while it is reported healthy or was never reported. */
  unhealthySeconds: number;
  /** The member is to be recloned, or to run restored data: its present data do not count. */
  recloning?: boolean;
};

export type HealthSettings = {
  /** A host that is silent for longer is given up, if the group has dropped its member too. */
  hostSilentSeconds: number;
};

/** A host that missed three polls: its last report is stale. */
const REACHABLE_SECONDS = 30;

/** For giving a host up. */
export const isReachable = ({ dead, silentSeconds }: ObservedMember["host"]): boolean =>
  !dead && silentSeconds < REACHABLE_SECONDS;

/** For believing its last report. False, too, until it has polled after our own outage. */
export const isSeen = ({ dead, unseenSeconds }: ObservedMember["host"]): boolean =>
  !dead && unseenSeconds < REACHABLE_SECONDS;

/** A member that its host reports as failed or errant stays this long before its data are discarded. */
const BROKEN_SECONDS = 30;

/**
 * `healthy`: in the group, in a view that another host shares. `lost`: its host is lost. `broken`: its data are
 * unusable. `out_of_group`: in no group, and has reported its GTID set. `isolated`: in a group alone. `silent`: its
 * host is silent for a while. `recovering`: anything else.
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

/** The member cannot continue with its data, and nobody needs them any more. */
const isUseless = (report: GroupReport | null): boolean =>
  report?.unusable !== undefined || (report?.errant !== undefined && isSaved(report, report.errant));

/**
 * Errant transactions of a group member were never acknowledged. A former primary did acknowledge them: they are saved
 * first.
 */
export const isSaved = ({ term, saved_errant }: GroupReport, errant: string): boolean =>
  term === undefined ||
  (saved_errant !== undefined && countMissing(parseGtidSet(errant), parseGtidSet(saved_errant.gtid)) === 0);

const isOutOfGroup = ({ state }: GroupReport): boolean => state === "offline" || state === "error";
