import { z } from "zod";
import type { GroupReport } from "./reports.ts";

/** The one judge of a replication group, for gatekeepers, agents and the control plane. Pure. */

/** What a member's server reported of its group, and how long ago. Raw: contains no verdict. */
export const MemberView = z.object({
  node: z.string(),
  ageMs: z.number(),
  /** `away`: the server is unreachable. */
  state: z.enum(["online", "recovering", "offline", "error", "away"]),
  role: z.enum(["primary", "secondary"]).optional(),
  /** The name of its group: while a cluster changes to another timeline, members may differ. */
  group: z.string().optional(),
  view: z.string().optional(),
  /** The member that it considers the primary. */
  primary: z.string().optional(),
  /** The members that it considers online, including itself. */
  online: z.array(z.string()),
  /** All members in its view, including unreachable ones: a crashed server is listed until it is expelled. */
  listed: z.array(z.string()).optional(),
  /** For a member of a group: the members whose hosts its host reaches, without its own. */
  reaches: z.array(z.string()).optional(),
  /** A member in the group: the one that it lets join now. */
  invites: z.string().optional(),
  /** Neither `super_read_only` nor `offline_mode` is on. */
  writable: z.boolean(),
  /** Everything that was executed. */
  gtid: z.string().optional(),
  /** The host is up and its gatekeeper is down: it is being restarted, and this is its last view. */
  kept: z.boolean().optional(),
  /** Everything that was received from the group or the primary, executed or not. */
  received: z.string().optional(),
  /** Asynchronous cluster: the newest term that its host knows, whether the server is reachable or not. */
  term: z.int().optional(),
});
export type MemberView = z.output<typeof MemberView>;

/**
 * Older views are ignored. A shorter limit would end sessions of a server that is only busy; a longer one would let
 * clients read from an isolated member for more than three seconds.
 */
export const VIEW_MAX_AGE_MS = 2000;
/** While a gatekeeper is restarted its last view counts for longer: a restart must move no client. */
export const KEPT_VIEW_MAX_AGE_MS = 2 * VIEW_MAX_AGE_MS;
const majority = 2;

/** Recent views of all members, several of each: a change of the group reaches the members one after the other. */
export type Views = readonly MemberView[];

/**
 * Whether clients may be forwarded to this member as the primary. Its own claim is not enough: an isolated member still
 * calls itself the primary. A member on another host must be in the same view with the same primary.
 */
export function mayBePrimary(member: string, views: Views): boolean {
  const now = newest(member, views);
  return now !== undefined && claimsPrimary(now) && mayServe(now, views.filter(claimsPrimary), views);
}

/** Whether readers may be forwarded to this member: a secondary, in a view that a member on another host shares. */
export function mayServeReads(member: string, views: Views): boolean {
  const now = newest(member, views);
  return now !== undefined && claimsSecondary(now) && mayServe(now, views.filter(claimsSecondary), views);
}

export const primaryOf = (members: readonly { node: string }[], views: Views): string | undefined =>
  members.find(({ node }) => mayBePrimary(node, views))?.node;

/** The last known view of a member; undefined: none. */
export const newest = (node: string, views: Views): MemberView | undefined =>
  views.filter((view) => view.node === node).sort((a, b) => a.ageMs - b.ageMs)[0];

export const isFresh = ({ ageMs, kept }: Pick<MemberView, "ageMs" | "kept">): boolean =>
  ageMs <= (kept ? KEPT_VIEW_MAX_AGE_MS : VIEW_MAX_AGE_MS);
/** The member's host is up: it answers, or refuses a connection. */
export const isHostUp = ({ ageMs, kept }: Pick<MemberView, "ageMs" | "kept">): boolean =>
  isFresh({ ageMs }) || kept === true;
/** The members that the view counts, whether they are online or not. */
export const listedIn = ({ listed, online }: Pick<MemberView, "listed" | "online">): string[] => listed ?? online;
const isInGroup = (view: MemberView): boolean =>
  isFresh(view) && view.state === "online" && view.view !== undefined && view.online.length >= majority;
const claimsPrimary = (view: MemberView): boolean =>
  isInGroup(view) && view.role === "primary" && view.primary === view.node && view.writable;
const claimsSecondary = (view: MemberView): boolean =>
  isInGroup(view) && view.role === "secondary" && view.primary !== undefined;

/**
 * Whether clients may stay: another member that is online follows the same primary now, and both were in one view within
 * the last two seconds. Not necessarily at the same moment: while a member joins or leaves, samples of two hosts fall on
 * either side of the change. `isSharedBy` answers another question.
 */
function mayServe(now: MemberView, ofMember: Views, views: Views): boolean {
  const own = ofMember.filter(({ node, primary }) => node === now.node && primary === now.primary);
  const agrees = (view: MemberView): boolean => isInGroup(view) && view.primary === now.primary;
  const others = new Set(views.map(({ node }) => node).filter((node) => node !== now.node));
  return [...others].some((other) => {
    const last = newest(other, views);
    if (last === undefined || !agrees(last)) return false;
    return views.some((seen) => seen.node === other && agrees(seen) && own.some(({ view }) => view === seen.view));
  });
}

/**
 * Whether this member is not isolated, reported as `shared`: a member on another host is in the same view with the same
 * primary now. Unlike above, one that is still recovering counts, because it is connected too; and a view from before
 * a gatekeeper's restart does not, because it proves no connection.
 */
export const isSharedBy = (
  { view, primary }: { view?: string | undefined; primary?: string | undefined },
  others: Views,
): boolean =>
  view !== undefined &&
  others.some((other) => isFresh({ ageMs: other.ageMs }) && other.view === view && other.primary === primary);

/**
 * The primary of a whole cluster as the control plane sees it: every member reports all of them online in one view, with
 * the same primary. A member that came back has created a new view, so reports from before it left do not count.
 */
export function agreedPrimary(
  members: readonly { node: string; report?: GroupReport | null | undefined }[],
): string | undefined {
  const first = members[0]?.report;
  const agree = members.every(
    ({ report }) =>
      report?.state === "online" &&
      report.shared &&
      report.online === members.length &&
      report.view === first?.view &&
      report.primary === first?.primary,
  );
  return agree ? members.find(({ node }) => node === first?.primary)?.node : undefined;
}

/** The member to clone from: the preferred one if it is online, else a secondary: the primary serves clients. */
export function chooseDonor(
  online: readonly { node: string; role?: "primary" | "secondary" | undefined }[],
  preferred?: string,
): string | undefined {
  const donor =
    online.find(({ node }) => node === preferred) ?? online.find(({ role }) => role === "secondary") ?? online[0];
  return donor?.node;
}
