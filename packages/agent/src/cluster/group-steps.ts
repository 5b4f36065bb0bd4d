import { step } from "@moorage/crash-points";
import { setStartUp } from "../disk/start-up.ts";
import { applyGate, isGateRight } from "../gate/gate-steps.ts";
import { type OwnMember, ownMember } from "../member.ts";
import type { NodeContext } from "../node-context.ts";
import { recordUsed, timelineRecord, updateTimeline, usedIds } from "../node-state.ts";
import { containerName, settled } from "../podman.ts";
import type { Step, StepTable } from "../run-steps.ts";
import { decideGroup, dueRenewal, type GroupDecision } from "./decide-group.ts";
import { gatherGroup, seedsOf } from "./gather-group.ts";
import { groupPassword } from "./group-secret.ts";
import {
  becomePrimary,
  beginGroup,
  closeForTheGroup,
  credentialsOf,
  forgetHistory,
  joinGroup,
  leaveGroup,
  lookAtGroup,
  makeGroupAccount,
  setSeeds,
  takeDataOf,
  writeCredentials,
} from "./group-sql.ts";
import { NotYet } from "./not-yet.ts";

/** After each of these the deed itself follows: a host that dies in between has used the id, and not done it. */
export const recordSteps = {
  begin: "agent.group.record-begin",
  renew: "agent.group.record-renew",
  lead: "agent.group.record-lead",
};

const isAlone = async ({ spec }: NodeContext): Promise<boolean> => spec.cluster === undefined;

/** Between the server's answering and its tenants' coming in. */
export const memberSteps: readonly Step[] = [
  { name: "account", percent: 93, done: needsNoAccount, run: prepareForGroup },
  { name: "group", percent: 94, done: isAlone, run: takePart },
];

/** For a member that runs, and is not in its group as it should be. The gate first: who is thrown out does not wait. */
export const groupSteps: StepTable = {
  name: "group",
  steps: [
    { name: "gate", percent: 20, done: isGateRight, run: applyGate },
    ...memberSteps,
    { name: "credentials", percent: 100, run: agreeOnCredentials },
  ],
};

/** Whatever it has on its disk is a member's: it starts closed to writes, and the group alone opens it. */
export async function startsClosed({ spec, paths }: NodeContext): Promise<boolean> {
  if (spec.cluster === undefined || dueRenewal(spec, await usedIds(paths)) !== undefined) return false;
  return (await timelineRecord(paths)).group !== undefined;
}

/** Data that come from another member bring the account with them. */
async function needsNoAccount({ spec, paths }: NodeContext): Promise<boolean> {
  if (spec.cluster === undefined || dueRenewal(spec, await usedIds(paths)) !== undefined) return true;
  return (await timelineRecord(paths)).group !== undefined;
}

/** Of a server that was never in the group. Closed, and known to be so, before it can join. */
async function prepareForGroup(context: NodeContext): Promise<void> {
  const { spec, paths } = context;
  await makeGroupAccount(paths.socket, await groupPassword(context));
  if (spec.data?.origin !== "archive") await forgetHistory(paths.socket);
  await setStartUp(paths, "group");
  await closeForTheGroup(paths.socket);
  await updateTimeline(paths, { group: spec.cluster?.group });
}

/** Leaving and joining again, or beginning, takes a few turns; whoever has to wait for others gives the turn back. */
const turns = 5;

async function takePart(context: NodeContext): Promise<void> {
  const { spec, paths, log, superseded } = context;
  const member = ownMember(spec);
  if (member === undefined) return;
  for (let turn = 0; turn < turns; turn++) {
    const { own, facts } = await gatherGroup(context);
    const decision = decideGroup(spec, facts);
    if (decision.kind === "stay") {
      if (own.seeds !== seedsOf(member)) await setSeeds(paths.socket, seedsOf(member));
      return;
    }
    if (superseded()) throw new NotYet("what a newer spec says");
    log[decision.kind === "wait" ? "debug" : "info"]({ decision }, "group");
    await act(context, member, decision);
  }
  throw new NotYet("its group");
}

async function act(
  context: NodeContext,
  member: OwnMember,
  decision: Exclude<GroupDecision, { kind: "stay" }>,
): Promise<void> {
  const { socket } = context.paths;
  if (decision.kind === "wait") throw new NotYet(decision.for, quietMs);
  if (decision.kind === "errant")
    throw new NotYet(
      `other data: it has transactions that its group does not have (${decision.transactions})`,
      quietMs,
    );
  if (decision.kind === "restart") return restartOpen(context);
  if (decision.kind === "renew") return renew(context, member, decision);
  if (decision.kind === "leave") return leaveGroup(socket);
  if (decision.kind === "lead") {
    await step(recordSteps.lead, () => recordUsed(context.paths, { led: decision.id }));
    return becomePrimary(socket);
  }
  // Before anything is used up: a gateway that is away must not cost a permission.
  const password = await groupPassword(context);
  if (decision.kind === "join") return join(socket, seedsOf(member, decision.through), password);
  await step(recordSteps.begin, () => recordUsed(context.paths, { begun: decision.id }));
  return beginGroup(socket, password);
}

/** The watch wakes the node when there is something to do; this only mends what it missed. */
const quietMs = 5000;
const joinAgainMs = 2000;

async function join(socket: string, seeds: string, password: string): Promise<void> {
  try {
    await joinGroup(socket, seeds, password);
  } catch (error) {
    throw new NotYet(`its group to let it in (${error instanceof Error ? error.message : String(error)})`, joinAgainMs);
  }
}

/** A server that is closed to writes takes nobody's data. It is started anew for that, and never opened as it runs. */
async function restartOpen({ podman, paths, spec }: NodeContext): Promise<void> {
  await setStartUp(paths, "open");
  await settled(podman.client.getContainer(containerName(spec.node)).stop({ t: 60 }));
  throw new NotYet("its server to start again", 0);
}

async function renew(
  context: NodeContext,
  { cluster, peerPort }: OwnMember,
  { id, donor }: { id: string; donor: string },
): Promise<void> {
  const { podman, paths, spec, log } = context;
  const password = await groupPassword(context);
  const address = cluster.members.find(({ node }) => node === donor)?.address;
  if (address === undefined) throw new Error(`${donor} is not a member.`);
  await step(recordSteps.renew, () => recordUsed(paths, { renewing: id }));
  const started = performance.now();
  await takeDataOf(paths.socket, { address, port: peerPort }, password);
  log.info({ donor, ms: Math.round(performance.now() - started) }, "took the data of another member");
  // It ends by itself, and must not be taken for one that can join.
  await settled(podman.client.getContainer(containerName(spec.node)).stop({ t: 60 }));
  await setStartUp(paths, "group");
  await updateTimeline(paths, { group: cluster.group });
  await recordUsed(paths, { renewed: id });
  throw new NotYet("its server to start with the data of another member", 0);
}

/** The primary writes them and the group carries them; the others look whether they have come. */
export async function agreeOnCredentials({ spec, paths, adminPassword }: NodeContext): Promise<void> {
  if ((await credentialsOf(paths.socket, spec)) >= spec.credentials.version) return;
  const { role, readOnly } = await lookAtGroup(paths.socket);
  if (role !== "primary" || readOnly) throw new NotYet("the primary to set the password");
  await writeCredentials(paths.socket, spec, await adminPassword(spec.node));
}
