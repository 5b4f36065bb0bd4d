import { step } from "@moorage/crash-points";
import { baselineStep } from "../baseline-steps.ts";
import { setStartUp } from "../disk/start-up.ts";
import { applyFirewall, isFirewallApplied } from "../firewall/firewall-steps.ts";
import { type OwnMember, ownMember } from "../member.ts";
import type { NodeContext } from "../node-context.ts";
import { repairAdmin } from "../mysql/baseline.ts";
import { isAnswer } from "../mysql/node-sql.ts";
import { serverStart } from "../mysql/server-start.ts";
import { recordUsed, timelineRecord, updateTimeline, usedIds } from "../node-state.ts";
import type { Step, StepTable } from "../run-steps.ts";
import { decideGroup, dueReclone, type GroupDecision } from "./decide-group.ts";
import { isAsynchronous } from "./following/decide-following.ts";
import { endGroupSessions } from "./following/following-sql.ts";
import { takePartInFollowing } from "./following/following-steps.ts";
import { gatherGroup } from "./gather-group.ts";
import { membersPassword } from "./group-secret.ts";
import {
  becomePrimary,
  bootstrapGroup,
  closeForTheGroup,
  credentialsOf,
  endPatience,
  forgetHistory,
  joinGroup,
  leaveGroup,
  makeGroupAccount,
  writeCredentials,
} from "./group-sql.ts";
import { NotYet, quietMs } from "./not-yet.ts";
import { recordSteps } from "./record-steps.ts";
import { recloneData, restartForClone } from "./reclone-data.ts";
import { takesWrites } from "./takes-writes.ts";

const isSingleNode = async ({ spec }: NodeContext): Promise<boolean> => spec.cluster === undefined;

/** Between the server's first answer and the admission of its tenants. */
export const memberSteps: readonly Step[] = [
  { name: "account", percent: 93, done: needsNoAccount, run: prepareForGroup },
  { name: "group", percent: 94, done: isSingleNode, run: takePart },
];

/** For a running member that is not in its group as desired. Firewall first: revoked clients are cut off at once. */
export const groupSteps: StepTable = {
  name: "group",
  steps: [
    { name: "firewall", percent: 20, done: isFirewallApplied, run: applyFirewall },
    ...memberSteps,
    baselineStep,
    { name: "credentials", percent: 100, run: agreeOnCredentials },
  ],
};

/** A server with a member's data starts closed to writes, and only the group opens it. */
export async function startsClosed({ spec, paths }: NodeContext): Promise<boolean> {
  if (spec.cluster === undefined || dueReclone(spec, await usedIds(paths)) !== undefined) return false;
  return (await timelineRecord(paths)).group !== undefined;
}

/** Data cloned from another member contain the account. */
async function needsNoAccount({ spec, paths }: NodeContext): Promise<boolean> {
  if (spec.cluster === undefined || dueReclone(spec, await usedIds(paths)) !== undefined) return true;
  return (await timelineRecord(paths)).group !== undefined;
}

/**
 * For a server that was never in the group. Its GTID history is reset before another member can clone it, and it is
 * closed, durably, before it can join.
 */
async function prepareForGroup(context: NodeContext): Promise<void> {
  const { spec, paths } = context;
  const password = await membersPassword(context);
  if (spec.data?.origin !== "archive") await forgetHistory(paths.socket);
  await makeGroupAccount(paths.socket, password, { isGroup: !isAsynchronous(spec.cluster) });
  if (isAsynchronous(spec.cluster)) await endGroupSessions(paths.socket);
  await setStartUp(paths, "group");
  await closeForTheGroup(paths.socket);
  const { group, primary } = spec.cluster ?? {};
  // The timeline starts here: it had no primary before, so no switchover is needed.
  if (primary?.node === spec.node && spec.data?.origin === "archive")
    await recordUsed(paths, { opened: { term: primary.term } });
  await updateTimeline(paths, { group });
}

async function takePart(context: NodeContext): Promise<void> {
  const member = ownMember(context.spec);
  if (member === undefined) return;
  await (isAsynchronous(member.cluster) ? takePartInFollowing(context, member) : takePartInGroup(context, member));
}

/** Leaving and rejoining, or bootstrapping, takes a few rounds; a member that has to wait for others ends its run. */
const maxRounds = 5;

async function takePartInGroup(context: NodeContext, member: OwnMember): Promise<void> {
  const { spec, log, superseded } = context;
  for (let round = 0; round < maxRounds; round++) {
    const decision = decideGroup(spec, (await gatherGroup(context)).facts);
    if (decision.kind === "stay") return;
    if (superseded()) throw new NotYet("a newer spec to be applied");
    log[decision.kind === "wait" ? "debug" : "info"]({ decision }, "group");
    await act(context, member, decision);
  }
  throw new NotYet("the group");
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
      `a re-clone: this member has transactions that its group does not have (${decision.transactions})`,
      quietMs,
    );
  if (decision.kind === "restart") return restartForClone(context);
  if (decision.kind === "reclone") return recloneData(context, member, decision);
  if (decision.kind === "leave") return leaveGroup(socket);
  if (decision.kind === "arrive") return endPatience(socket);
  if (decision.kind === "make_primary") {
    await step(recordSteps.makePrimary, () => recordUsed(context.paths, { made_primary: decision.id }));
    return becomePrimary(socket);
  }
  // Before the permission is used: an unreachable gateway must not cost one.
  const password = await membersPassword(context);
  if (decision.kind === "join") return join(socket, seedsOf(member, decision.through), password);
  return bootstrap(context, decision.id, password);
}

/** A server that answers with an error did not bootstrap: the permission remains valid. */
async function bootstrap({ paths }: NodeContext, id: string, password: string): Promise<void> {
  const { socket } = paths;
  const bootstrapped = { bootstrapped: id, bootstrapped_by: await serverStart(socket) };
  await step(recordSteps.bootstrap, () => recordUsed(paths, bootstrapped));
  try {
    await bootstrapGroup(socket, password);
  } catch (error) {
    if (!isAnswer(error)) throw error;
    await recordUsed(paths, { bootstrapped: undefined, bootstrapped_by: undefined });
    throw new NotYet(`the server to bootstrap the group (${error.message})`, joinAgainMs);
  }
}

const seedsOf = ({ others, peerPort }: OwnMember, through: readonly string[]): string =>
  others
    .filter(({ node }) => through.includes(node))
    .map(({ address }) => `${address}:${peerPort}`)
    .join();

const joinAgainMs = 2000;

async function join(socket: string, seeds: string, password: string): Promise<void> {
  try {
    await joinGroup(socket, seeds, password);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new NotYet(`the group to admit this member (${why})`, joinAgainMs);
  }
}

/** The first password is set on an unchanged admin account; a later one may find it altered or dropped. */
export const isReset = ({ credentials }: NodeContext["spec"]): boolean => credentials.version > 1;

/** The primary writes them and replication carries them; the other members check whether they have arrived. */
export async function agreeOnCredentials(context: NodeContext): Promise<void> {
  const { spec, paths, adminPassword } = context;
  if ((await credentialsOf(paths.socket, spec)) >= spec.credentials.version) return;
  if (!(await takesWrites({ spec, paths }))) throw new NotYet("the primary to set the password");
  if (isReset(spec)) await repairAdmin(paths.socket, context);
  await writeCredentials(paths.socket, spec, await adminPassword(spec.node));
}
