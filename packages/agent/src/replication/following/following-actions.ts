import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { step } from "@moorage/crash-points";
import { bootId } from "../../base/boot-id.ts";
import { closeToEverybody } from "../../disk/server-writes.ts";
import type { OwnMember } from "../../specs/member.ts";
import { type MemberContext, recordSteps } from "../member/member-context.ts";
import { recordUsed } from "../../specs/node-state.ts";
import { membersPassword } from "../member/group-secret.ts";
import { NotYet, quietMs } from "../../base/try-again.ts";
import { recloneData, restartForClone } from "../member/reclone-data.ts";
import { decideFollowing, type FollowingDecision } from "./decide-following.ts";
import {
  followSource,
  openToTenants,
  type OwnFollowing,
  readFollowingState,
  resetReplication,
  startApplying,
  stopFollowing,
  stopReceiving,
  waitForExecuted,
} from "./following-sql.ts";
import type { FollowingContext, FollowingMemory } from "./following-memory.ts";
import { gatherFollowing, noteAttempt } from "./gather-following.ts";
import { saveErrant } from "./save-errant.ts";

/** Closing and following, or settling and following, takes a few rounds. */
const maxRounds = 5;
/** How long to look again and again for what other members are about to do: clients wait for it too. */
const patienceMs = 3000;
const checkAgainMs = 100;

export async function takePartInFollowing(context: FollowingContext, member: OwnMember): Promise<void> {
  const { spec, log, superseded } = context;
  const patientUntil = performance.now() + patienceMs;
  for (let round = 0; round < maxRounds; ) {
    const { own, facts } = await gatherFollowing(context);
    const decision = decideFollowing(spec, facts);
    if (decision.kind === "stay") return;
    if (superseded()) throw new NotYet("a newer spec to be applied");
    if (decision.kind === "wait" && decision.soon && performance.now() < patientUntil) {
      await context.background.run(spec.node, {
        name: `wait for ${decision.for}`,
        waitsFor: decision.for,
        run: (signal) => untilDecidedOtherwise(context, decision, signal),
      });
      continue;
    }
    log[decision.kind === "wait" ? "debug" : "info"]({ decision }, "following");
    await act(context, member, decision, own);
    round += 1;
  }
  throw new NotYet("the primary");
}

async function untilDecidedOtherwise(
  context: FollowingContext,
  decision: FollowingDecision & { kind: "wait" },
  signal: AbortSignal,
): Promise<void> {
  const patientUntil = performance.now() + patienceMs;
  do {
    await sleep(checkAgainMs, undefined, { signal });
    const { facts } = await gatherFollowing(context);
    if (!isDeepStrictEqual(decideFollowing(context.spec, facts), decision)) return;
  } while (performance.now() < patientUntil);
  throw new NotYet(decision.for, quietMs);
}

async function act(
  context: FollowingContext,
  member: OwnMember,
  decision: Exclude<FollowingDecision, { kind: "stay" }>,
  own: OwnFollowing,
): Promise<void> {
  const { spec, paths } = context;
  if (decision.kind === "wait") throw new NotYet(decision.for, quietMs);
  if (decision.kind === "unusable") throw new NotYet(`a re-clone: ${decision.because}`, quietMs);
  if (decision.kind === "errant") return keepErrant(context, decision.transactions);
  if (decision.kind === "restart") return restartForClone(context);
  if (decision.kind === "reclone") return recloneData(context, member, decision);
  if (decision.kind === "leave") return stopFollowing(paths.socket);
  if (decision.kind === "close") return closeToEverybody(paths.socket);
  if (decision.kind === "settle") return settle(context, own);
  if (decision.kind === "open") return open(context, decision);
  const source = member.others.find(({ node }) => node === decision.source);
  if (source === undefined) throw new Error(`${decision.source} is not a member.`);
  noteAttempt(context.following(spec.node), own);
  const { primary } = member.cluster;
  if (primary?.node === source.node) await recordUsed(paths, { followed: primary.term });
  await followSource(paths.socket, { address: source.address, port: member.peerPort }, await membersPassword(context));
  await sleep(checkAgainMs);
}

const applyWithinSeconds = 1;
const applyAgainMs = 250;

/** Stops receiving, until everything that was received is executed: the server goes on when the run has ended. */
async function settle({ paths: { socket } }: MemberContext, { source }: OwnFollowing): Promise<void> {
  if (source === undefined) return;
  await stopReceiving(socket);
  const { received, isApplied, applying, failure } = await readFollowingState(socket);
  if (isApplied) return;
  if (failure !== undefined) throw new NotYet(`received transactions to be applied (${failure})`, quietMs);
  if (!applying) await startApplying(socket);
  await waitForExecuted(socket, received, applyWithinSeconds);
  if (!(await readFollowingState(socket)).isApplied)
    throw new NotYet("received transactions to be applied", applyAgainMs);
}

function waitedMs(memory: FollowingMemory, term: number): number {
  if (memory.mayOpen?.term !== term) memory.mayOpen = { term, since: performance.now() };
  return performance.now() - memory.mayOpen.since;
}

/**
 * The term is on the disk as opened before the member takes a write: a server that ends from then on was a primary. The
 * decision may have changed during the preparation, and is made again.
 */
async function open(context: FollowingContext, { term, afterMs }: { term: number; afterMs: number }): Promise<void> {
  const { spec, paths, log, superseded, following } = context;
  const leftMs = afterMs - waitedMs(following(spec.node), term);
  if (leftMs > 0) throw new NotYet("the proxies of the former primary to notice that its replicas are gone", leftMs);
  await settle(context, await readFollowingState(paths.socket));
  const { own, facts } = await gatherFollowing(context);
  const again = decideFollowing(spec, facts);
  if (superseded() || again.kind !== "open") throw new NotYet("a new decision: the state changed meanwhile", 0);
  if (own.source !== undefined) await resetReplication(paths.socket);
  const boot = await bootId();
  await step(recordSteps.open, () => recordUsed(paths, { opened: { term, boot } }));
  await openToTenants(paths.socket);
  log.info({ term }, "opened to writes as the primary");
}

/** No other member has these transactions, so they are saved elsewhere before the data are re-cloned. */
async function keepErrant(context: MemberContext, transactions: string): Promise<void> {
  await context.background.run(context.spec.node, {
    name: `save ${transactions}`,
    waitsFor: "the transactions that only this member has to be stored",
    run: async (signal) => void (await saveErrant(context, transactions, signal)),
  });
  throw new NotYet(`a re-clone: this member has transactions that the primary lacks (${transactions})`, quietMs);
}
