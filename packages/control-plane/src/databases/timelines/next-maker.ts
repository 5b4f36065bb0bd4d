import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Successor } from "../clusters/health/choose-successor.ts";
import { isReachable, isSeen, type ObservedMember } from "../clusters/member-condition.ts";

/** A host that was silent for this long is not waited for, unless another member still counts its server. */
const GONE_SECONDS = 60;
/** How many members are tried, one after the other. */
const ATTEMPTS = 3;

export type ObservedRestore = {
  members: readonly ObservedMember[];
  /** The member that restores the data. */
  maker: string;
  /** The first is 1. */
  attempt: number;
  /** Undefined for a group. */
  primary?: PrimaryTerm | undefined;
  /** Of a primary that accepts no more writes on the previous timeline. */
  successor?: Successor | undefined;
};

/** `none left`: too many hosts were lost. */
export type NextMaker = "stays" | "none left" | { node: string };

/**
 * Who restores the data of a cluster from now on. In an asynchronous cluster that is its primary: if another one was
 * promoted, the restore moves to that one. A dead primary is succeeded first, if a member has all of its transactions.
 * While two hosts are silent their members may serve each other's clients, so the restore waits. Pure.
 */
export function nextMaker({ members, maker, attempt, primary, successor }: ObservedRestore): NextMaker {
  const own = members.find(({ node }) => node === maker);
  const others = members.filter((member) => member !== own);
  const isReplaced = primary !== undefined && primary.node !== maker;
  if (!isReplaced && own !== undefined && !isGone(own, others)) return "stays";
  if (members.filter(({ host }) => !host.dead && !isReachable(host)).length > 1) return "stays";
  const fit = others.filter(canRestore).toSorted((a, b) => a.ordinal - b.ordinal);
  if (!isReplaced && own?.host.dead === true && isAboutToSucceed(successor)) return "stays";
  const next = isReplaced ? fit.find(({ node }) => node === primary.node) : fit[0];
  if (next === undefined) return "stays";
  return attempt >= ATTEMPTS ? "none left" : { node: next.node };
}

const isGone = (own: ObservedMember, others: readonly ObservedMember[]): boolean =>
  own.host.dead || (own.host.silentSeconds >= GONE_SECONDS && !others.some((other) => counts(other, own, others)));

/** Its server is in a view with more members than those that report it, or follows the silent one. */
function counts({ host, report }: ObservedMember, own: ObservedMember, others: readonly ObservedMember[]): boolean {
  if (!isReachable(host) || report?.state !== "online") return false;
  const inView = others.filter(
    (other) => isReachable(other.host) && other.report?.state === "online" && other.report.view === report.view,
  );
  return report.primary === own.node || report.online > inView.length;
}

const canRestore = ({ host, state, report }: ObservedMember): boolean =>
  isReachable(host) && isSeen(host) && state !== "failed" && report?.unusable === undefined;

const isAboutToSucceed = (successor: Successor | undefined): boolean =>
  successor === "wait" || (typeof successor === "object" && successor.lacks === 0);
