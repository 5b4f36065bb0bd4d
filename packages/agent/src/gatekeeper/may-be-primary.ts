import type { MemberView } from "./views.ts";

/**
 * What was seen longer ago says nothing of now. Shorter would end sessions of a server that is only busy; longer would let
 * a member that was cut off be read for more than three seconds. A gatekeeper that is started again must move nobody.
 */
const freshMs = 2000;
const keptMs = 4000;
const majority = 2;

/** Views of all members, as many of each as were seen lately: a change of the group reaches them one after the other. */
export type Views = readonly MemberView[];

/**
 * Whether clients may be led to this member as the primary. Its own word is not enough: a member that was cut off goes on
 * calling itself the primary. Another host's member must be in the same view with the same primary.
 */
export function mayBePrimary(member: string, views: Views): boolean {
  const now = newest(member, views);
  return now !== undefined && claimsPrimary(now) && isShared(now, views.filter(claimsPrimary), views);
}

/** Whether readers may be led to this member: a secondary, in a view that another host's member shares. */
export function mayServeReads(member: string, views: Views): boolean {
  const now = newest(member, views);
  return now !== undefined && claimsSecondary(now) && isShared(now, views.filter(claimsSecondary), views);
}

export const primaryOf = (members: readonly { node: string }[], views: Views): string | undefined =>
  members.find(({ node }) => mayBePrimary(node, views))?.node;

/** The last that is known of it; undefined: it was not heard of. */
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
 * Another member follows the same primary now, and both were in one view within the last two seconds. Not in one view at
 * this very moment: while a member comes or goes, samples of two hosts fall on either side of the change.
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
