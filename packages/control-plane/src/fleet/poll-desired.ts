import { type Capture, type DesiredReply, type DesiredRequest, PROTOCOL } from "@moorage/contract/agent";
import type { Db } from "#platform/db/database.ts";
import type { CaptureCalls } from "./host-calls.ts";
import { findHost, type HostRow, readInstallation, renewLease } from "./host-store.ts";
import { nodesSince } from "./node-store.ts";
import { claimsMore, noteSetBack, noticeServer, proveHost, readServer, wasSetBack } from "./prove-current.ts";
import { quarantine } from "./quarantine.ts";
import { NONE, revokedKeys } from "./revoked-keys.ts";
import { isOurStatement, sealSpec, type Signing, signStatement } from "./told.ts";

/** A poll also renews the host's lease. */
const POLL_MS = 10_000;

type PollDeps = {
  db: Db;
  sealer: Signing;
  wakeups: Wakeups;
  closing: AbortSignal;
  captures: Pick<CaptureCalls, "desired">;
};

/** Long polls that wait for a change of their host's desired state. */
export type Wakeups = {
  wake(hostId: number | "all"): void;
  wait(hostId: number, ms: number, signal: AbortSignal): Promise<void>;
};

/**
 * Answers at once if the host's desired state has changed, otherwise at the next change, or empty after ten seconds.
 */
export async function pollDesired(
  deps: PollDeps,
  host: HostRow,
  claimed: DesiredRequest,
  now: Date,
): Promise<DesiredReply> {
  const { told, ...own } = claimed;
  const isOurs = told !== undefined && isOurStatement(deps.sealer, host.id, told);
  const request: DesiredRequest = isOurs ? claimed : own;
  // Starts waiting before the query, so that a change between the two is noticed.
  const news = deps.wakeups.wait(host.id, POLL_MS, deps.closing);
  const first = await desiredSince(deps, host.id, request, now);
  // After the query: a host that counts as seen is known not to be ahead of this database.
  await renewLease(deps.db, {
    host_id: host.id,
    seen_at: now,
    agent: request.agent,
    agent_epoch: request.told?.epoch ?? 0,
    boot: request.boot,
    clock_offset_ms: clockOffset(request.now, now),
    trash_mb: request.trash_mb,
    captures: request.captures !== undefined,
  });
  if (first.nodes !== undefined || first.captures !== undefined || first.revoked !== undefined || first.digest)
    return first;
  await news;
  return desiredSince(deps, host.id, request, now);
}

async function desiredSince(deps: PollDeps, hostId: number, request: DesiredRequest, now: Date): Promise<DesiredReply> {
  const { db } = deps;
  const server = await readServer(db);
  let installation = await readInstallation(db);
  if (installation.noticed_fingerprint !== server.fingerprint) {
    await noticeServer(db, now);
    installation = await readInstallation(db);
  }
  const { epoch, recovery_epoch } = installation;
  const host = await findHost(db, hostId);
  const reply: DesiredReply = {
    protocol: PROTOCOL,
    epoch,
    revision: host.revision,
    digest: epoch > 1 && host.digest_epoch < epoch && request.epoch <= epoch,
    ...(host.deletion_allowance === null ? {} : { allowance: host.deletion_allowance }),
  };
  const revoked = await revokedKeys(db, now);
  if (revoked.version !== (request.revoked ?? NONE)) reply.revoked = revoked;
  if (wasSetBack(installation, host, server, request.told)) {
    await noteSetBack(db, now);
    return { ...reply, digest: false };
  }
  const isUnproven = claimsMore(installation, host, request);
  if (isUnproven) await quarantine(db, hostId, request, now);
  if (isUnproven || host.quarantined_at !== null) return reply;
  reply.told = signStatement(deps.sealer, hostId, { epoch, revision: host.revision, position: server.position });
  if (host.proven_fingerprint !== server.fingerprint) await proveHost(db, hostId, server, now);
  // Until recovery has compared rows with hosts, a row may describe a node whose data are lost: an empty node must not
  // replace it.
  if (reply.digest || recovery_epoch !== null) return reply;
  const captures = await unknownCaptures(deps, hostId, request);
  if (captures !== undefined) reply.captures = captures;
  // In a new epoch the host's revision is meaningless: the host gets everything.
  const since = request.epoch === epoch ? request.revision : -1;
  if (host.revision <= since) return reply;
  const nodes = await nodesSince(db, hostId, since);
  return { ...reply, nodes: nodes.map(({ desired_spec: spec }) => spec && sealSpec(deps.sealer, hostId, spec)) };
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

export function createWakeups(): Wakeups {
  const waiting = new Map<number, Set<() => void>>();
  return {
    wake(hostId) {
      const sets = hostId === "all" ? [...waiting.values()] : [waiting.get(hostId) ?? new Set<() => void>()];
      for (const set of sets) for (const wake of set) wake();
    },
    wait: (hostId, ms, signal) =>
      new Promise((resolve) => {
        const set = waiting.get(hostId) ?? new Set();
        waiting.set(hostId, set);
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          set.delete(end);
          if (set.size === 0 && waiting.get(hostId) === set) waiting.delete(hostId);
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal.addEventListener("abort", end);
        set.add(end);
      }),
  };
}
