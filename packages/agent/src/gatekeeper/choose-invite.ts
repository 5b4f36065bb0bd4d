import { isFresh, isHostUp, listedIn, type MemberView, newest, type Views } from "@moorage/contract/agent";

/** The member that may join the group now, and since when. */
export type Invite = { node: string; since: number };

/** A member that has not joined by then, for whatever reason, must not keep the next one out. */
export const inviteForMs = 30_000;

/**
 * Which member this one, which is in the group, lets join: one at a time, because two that cannot reach each other could
 * both be expelled, which would leave the group without a majority. Kept until that member is online. Otherwise the
 * first of the cluster that is out of the group and reaches everybody in it; one whose time has passed comes last. Pure.
 */
export function chooseInvite(
  before: Invite | undefined,
  { node: own, members }: { node: string; members: readonly { node: string }[] },
  views: Views,
  now: number,
): Invite | undefined {
  const view = newest(own, views);
  if (view === undefined || !isFresh(view) || view.state !== "online") return undefined;
  const isOnline = before !== undefined && view.online.includes(before.node);
  const hasPassed = before !== undefined && now - before.since >= inviteForMs;
  if (before !== undefined && !isOnline && !hasPassed) return before;
  const listed = listedIn(view);
  const candidates = members
    .map(({ node }) => node)
    .filter((node) => !listed.includes(node) && mayJoin(newest(node, views), listed));
  const next = candidates.find((node) => node !== before?.node) ?? candidates[0];
  return next === undefined ? undefined : { node: next, since: now };
}

/** It is out of the group, and reaches everybody who is listed in it. */
const mayJoin = (view: MemberView | undefined, listed: readonly string[]): boolean =>
  view !== undefined &&
  isFresh({ ageMs: view.ageMs }) &&
  view.state === "offline" &&
  listed.every((node) => view.reaches?.includes(node) === true);

/** The members whose hosts this one reaches. */
export const reachedBy = (own: string, members: readonly { node: string }[], views: Views): string[] =>
  members
    .map(({ node }) => node)
    .filter((node) => {
      const view = node === own ? undefined : newest(node, views);
      return view !== undefined && isHostUp(view);
    });
