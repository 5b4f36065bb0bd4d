import { setTimeout as sleep } from "node:timers/promises";
import { step } from "@moorage/crash-points";
import { bootId } from "../../boot-id.ts";
import { closeToEverybody } from "../../disk/server-writes.ts";
import type { OwnMember } from "../../member.ts";
import type { NodeContext } from "../../node-context.ts";
import { recordUsed } from "../../node-state.ts";
import { membersPassword } from "../group-secret.ts";
import { NotYet, quietMs } from "../not-yet.ts";
import { recordSteps } from "../record-steps.ts";
import { recloneData, restartForClone } from "../reclone-data.ts";
import { decideFollowing, type FollowingDecision } from "./decide-following.ts";
import {
  followSource,
  resetReplication,
  readFollowingState,
  type OwnFollowing,
  openToTenants,
  startApplying,
  stopFollowing,
  stopReceiving,
  waitForExecuted,
} from "./following-sql.ts";
import { gatherFollowing } from "./gather-following.ts";
import { noteAttempt } from "./failed-attempts.ts";
import { saveErrant } from "./save-errant.ts";

/** Closing and following, or settling and following, takes a few rounds. */
const maxRounds = 5;
/** How long to wait within the run for what other members are about to do: clients wait for it too. */
const patienceMs = 3000;
const checkAgainMs = 100;

export async function takePartInFollowing(context: NodeContext, member: OwnMember): Promise<void> {
  const { spec, log, superseded } = context;
  const patientUntil = performance.now() + patienceMs;
  for (let round = 0; round < maxRounds; ) {
    const { own, facts } = await gatherFollowing(context);
    const decision = decideFollowing(spec, facts);
    if (decision.kind === "stay") return;
    if (superseded()) throw new NotYet("a newer spec to be applied");
    if (decision.kind === "wait" && decision.soon && performance.now() < patientUntil) {
      await sleep(checkAgainMs);
      continue;
    }
    log[decision.kind === "wait" ? "debug" : "info"]({ decision }, "following");
    await act(context, member, decision, own);
    round += 1;
  }
  throw new NotYet("the primary");
}

async function act(
  context: NodeContext,
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
  noteAttempt(spec.node, own);
  const { primary } = member.cluster;
  if (primary?.node === source.node) await recordUsed(paths, { followed: primary.term });
  await followSource(paths.socket, { address: source.address, port: member.peerPort }, await membersPassword(context));
  await sleep(checkAgainMs);
}

const applyWithinSeconds = 1;

/** Stops receiving, and waits until everything that was received is executed. */
async function settle({ paths: { socket }, superseded }: NodeContext, { source }: OwnFollowing): Promise<void> {
  if (source === undefined) return;
  await stopReceiving(socket);
  for (;;) {
    const { received, isApplied, applying, failure } = await readFollowingState(socket);
    if (isApplied) return;
    if (failure !== undefined) throw new NotYet(`received transactions to be applied (${failure})`, quietMs);
    if (superseded()) throw new NotYet("a newer spec to be applied");
    if (!applying) await startApplying(socket);
    await waitForExecuted(socket, received, applyWithinSeconds);
  }
}

/**
 * The term is on the disk as opened before the member takes a write: a server that ends from then on was a primary. The
 * decision may have changed during the preparation, and is made again.
 */
async function open(context: NodeContext, { term, afterMs }: { term: number; afterMs: number }): Promise<void> {
  const { spec, paths, log, superseded } = context;
  await sleep(afterMs);
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
async function keepErrant(context: NodeContext, transactions: string): Promise<void> {
  await saveErrant(context, transactions);
  throw new NotYet(`a re-clone: this member has transactions that the primary lacks (${transactions})`, quietMs);
}
