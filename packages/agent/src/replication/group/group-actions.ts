import { step } from "@moorage/crash-points";
import type { OwnMember } from "../../specs/member.ts";
import { type MemberContext, recordSteps } from "../member/member-context.ts";
import { isAnswer, serverStart } from "../../mysql/node-sql.ts";
import { recordUsed } from "../../specs/node-state.ts";
import { decideGroup, type GroupDecision } from "./decide-group.ts";
import { gatherGroup } from "./gather-group.ts";
import { membersPassword } from "../member/group-secret.ts";
import { becomePrimary, bootstrapGroup, endPatience, joinGroup, leaveGroup } from "./group-sql.ts";
import { NotYet, quietMs } from "../../base/try-again.ts";
import { recloneData, restartForClone } from "../member/reclone-data.ts";

/** Leaving and rejoining, or bootstrapping, takes a few rounds; a member that has to wait for others ends its run. */
const maxRounds = 5;

export async function takePartInGroup(context: MemberContext, member: OwnMember): Promise<void> {
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
  context: MemberContext,
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
async function bootstrap({ paths }: MemberContext, id: string, password: string): Promise<void> {
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
