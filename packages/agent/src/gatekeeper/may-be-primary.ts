import type { MemberView } from "./views.ts";

/**
 * Older views are ignored. A shorter limit would end sessions of a server that is only busy; a longer one would let
 * clients read from an isolated member for more than three seconds. Restarting a gatekeeper must move no client.
 */
const freshMs = 2000;
const keptMs = 4000;
const majority = 2;

/** Recent views of all members, several of each: a change of the group reaches the members one after the other. */
export type Views = readonly MemberView[];

/**
 * Whether clients may be forwarded to this member as the primary. Its own claim is not enough: an isolated member still
 * calls itself the primary. A member on another host must be in the same view with the same primary.
 */
export function mayBePrimary(member: string, views: Views): boolean {
  const now = newest(member, views);
  return now !== undefined && claimsPrimary(now) && isShared(now, views.filter(claimsPrimary), views);
}

/** Whether readers may be forwarded to this member: a secondary, in a view that a member on another host shares. */
export function mayServeReads(member: string, views: Views): boolean {
  const now = newest(member, views);
  return now !== undefined && claimsSecondary(now) && isShared(now, views.filter(claimsSecondary), views);
}

export const primaryOf = (members: readonly { node: string }[], views: Views): string | undefined =>
  members.find(({ node }) => mayBePrimary(node, views))?.node;

/** The last known view of a member; undefined: none. */
export const newest = (node: string, views: Views): MemberView | undefined =>
  views.filter((view) => view.node === node).sort((a, b) => a.ageMs - b.ageMs)[0];

const isFresh = ({ ageMs, kept }: MemberView): boolean => ageMs <= (kept ? keptMs : freshMs);
const isInGroup = (view: MemberView): boolean =>
  isFresh(view) && view.state === "online" && view.view !== undefined && view.online.length >= majority;
const claimsPrimary = (view: MemberView): boolean =>
  isInGroup(view) && view.role === "primary" && view.primary === view.node && view.writable;
const claimsSecondary = (view: MemberView): boolean =>
  isInGroup(view) && view.role === "secondary" && view.primary !== undefined;

/**
 * Another member follows the same primary now, and both were in one view within the last two seconds. Not necessarily
 * at the same moment: while a member joins or leaves, samples of two hosts fall on either side of the change.
 */
function isShared(now: MemberView, ofMember: Views, views: Views): boolean {
  const own = ofMember.filter(({ node, primary }) => node === now.node && primary === now.primary);
  const agrees = (view: MemberView): boolean => isInGroup(view) && view.primary === now.primary;
  const others = new Set(views.map(({ node }) => node).filter((node) => node !== now.node));
  return [...others].some((other) => {
    const last = newest(other, views);
    if (last === undefined || !agrees(last)) return false;
    return views.some((seen) => seen.node === other && agrees(seen) && own.some(({ view }) => view === seen.view));
  });
}
