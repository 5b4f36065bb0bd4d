import { type Capture, PROTOCOL, type DesiredReply, type DesiredRequest } from "@moorage/contract/agent";
import type { Db } from "#platform/db/database.ts";
import type { CaptureCalls } from "./capture-calls.ts";
import { findHost, type HostRow, readInstallation, renewLease } from "./host-store.ts";
import { nodesSince } from "./node-store.ts";
import type { Wakeups } from "./wakeups.ts";

/** A poll also renews the host's lease. */
const POLL_MS = 10_000;

export type PollDeps = { db: Db; wakeups: Wakeups; closing: AbortSignal; captures: Pick<CaptureCalls, "desired"> };

/**
 * Answers at once if the host's desired state has changed, otherwise at the next change, or empty after ten seconds.
 */
export async function pollDesired(
  deps: PollDeps,
  host: HostRow,
  request: DesiredRequest,
  now: Date,
): Promise<DesiredReply> {
  // Starts waiting before the query, so that a change between the two is noticed.
  const news = deps.wakeups.wait(host.id, POLL_MS, deps.closing);
  const first = await desiredSince(deps, host.id, request, now);
  // After the query: a host that counts as seen is known not to be ahead of this database.
  await renewLease(deps.db, {
    host_id: host.id,
    seen_at: now,
    agent: request.agent,
    agent_epoch: request.epoch,
    boot: request.boot,
    clock_offset_ms: clockOffset(request.now, now),
    trash_mb: request.trash_mb,
    captures: request.captures !== undefined,
  });
  if (first.nodes !== undefined || first.captures !== undefined || first.digest) return first;
  await news;
  return desiredSince(deps, host.id, request, now);
}

async function desiredSince(deps: PollDeps, hostId: number, request: DesiredRequest, now: Date): Promise<DesiredReply> {
  const { db } = deps;
  const { epoch, recovery_epoch } = await readInstallation(db);
  const host = await findHost(db, hostId);
  const reply: DesiredReply = {
    protocol: PROTOCOL,
    epoch,
    revision: host.revision,
    digest: epoch > 1 && host.digest_epoch < epoch && request.epoch <= epoch,
    ...(host.deletion_allowance === null ? {} : { allowance: host.deletion_allowance }),
  };
  if (wasSetBack({ epoch, revision: host.revision }, request)) {
    await db.updateTable("installation").set({ set_back_at: now }).where("set_back_at", "is", null).execute();
    return { ...reply, digest: false };
  }
  // Until recovery has compared rows with hosts, a row may describe a node whose data are lost: an empty node must not
  // replace it.
  if (reply.digest || recovery_epoch !== null) return reply;
  const captures = await unknownCaptures(deps, hostId, request);
  if (captures !== undefined) reply.captures = captures;
  // In a new epoch the host's revision is meaningless: the host gets everything.
  const since = request.epoch === epoch ? request.revision : -1;
  if (host.revision <= since) return reply;
  const nodes = await nodesSince(db, hostId, since);
  return { ...reply, nodes: nodes.map(({ desired_spec }) => desired_spec) };
}

/** All desired captures, if they differ from those that the agent knows. An agent that cannot capture gets none. */
async function unknownCaptures(
  { captures }: PollDeps,
  hostId: number,
  { captures: known }: DesiredRequest,
): Promise<Capture[] | undefined> {
  if (known === undefined) return undefined;
  const desired = await captures.desired(hostId);
  const isAsKnown = new Set(desired.map(({ id }) => id)).symmetricDifference(new Set(known)).size === 0;
  return isAsKnown ? undefined : desired;
}

/**
 * Limited to what its column holds: a host whose clock is decades off, or that sends no valid time, must still be seen.
 */
function clockOffset(theirs: string, now: Date): number {
  const most = 2 ** 31 - 1;
  const offset = new Date(theirs).getTime() - now.getTime();
  return Number.isNaN(offset) ? most : Math.max(-most, Math.min(most, offset));
}

/** The host has seen a later state than ours: the control plane's database was restored from a backup. */
export const wasSetBack = (
  ours: { epoch: number; revision: number },
  theirs: { epoch: number; revision: number },
): boolean => theirs.epoch > ours.epoch || (theirs.epoch === ours.epoch && theirs.revision > ours.revision);
