import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { Held, NotYet } from "../base/try-again.ts";
import type { Step } from "../base/run-steps.ts";
import { setStartUp } from "../disk/server-writes.ts";
import { repairAdmin } from "../mysql/baseline.ts";
import { issuerOfMembers } from "../node/node-certificate.ts";
import type { NodeContext } from "../node/node-context.ts";
import { isAsynchronous, type OwnMember, ownMember } from "../specs/member.ts";
import { readNodeRecord, recordUsed, timelineRecord, updateTimeline, usedIds } from "../specs/node-state.ts";
import type { FollowingContext } from "./following/following-memory.ts";
import { takePartInFollowing } from "./following/following-actions.ts";
import { takePartInGroup } from "./group/group-actions.ts";
import { dataGivenUp, dueReclone } from "./member/due-reclone.ts";
import { membersPassword } from "./member/group-secret.ts";
import type { MemberContext } from "./member/member-context.ts";
import {
  closeForTheGroup,
  credentialsOf,
  endGroupSessions,
  forgetHistory,
  makeGroupAccount,
  writeCredentials,
} from "./member/member-sql.ts";
import { readFollowingState } from "./following/following-sql.ts";
import { leaveGroup, readGroupState } from "./group/group-sql.ts";
import { exists } from "../node/volume.ts";
import { endServer } from "./member/reclone-data.ts";

type Node = Pick<NodeContext, "spec" | "paths">;

const isSingleNode = async ({ spec }: Node): Promise<boolean> => spec.cluster === undefined;

/** Between the server's first answer and the admission of its tenants. */
export const memberSteps: readonly Step<FollowingContext>[] = [
  { name: "account", percent: 93, done: needsNoAccount, run: prepareForGroup },
  { name: "group", percent: 94, done: isSingleNode, run: takePart },
];

/** A server with a member's data starts closed to writes, and only the group opens it. */
export async function startsClosed({ spec, paths }: Node): Promise<boolean> {
  if (spec.cluster === undefined || dueReclone(spec, await usedIds(paths)) !== undefined) return false;
  return (await timelineRecord(paths)).group !== undefined;
}

/** Data cloned from another member contain the account. */
async function needsNoAccount({ spec, paths }: Node): Promise<boolean> {
  if (spec.cluster === undefined || dueReclone(spec, await usedIds(paths)) !== undefined) return true;
  return (await timelineRecord(paths)).group !== undefined;
}

/**
 * For a server that was never in the group. Its GTID history is reset before another member can clone it, and it is
 * closed, durably, before it can join.
 */
async function prepareForGroup(context: MemberContext): Promise<void> {
  const { spec, paths } = context;
  const password = await membersPassword(context);
  if (spec.data?.origin !== "archive") await forgetHistory(paths.socket);
  const issuer = await issuerOfMembers(paths);
  await makeGroupAccount(paths.socket, password, { isGroup: !isAsynchronous(spec.cluster), issuer });
  if (isAsynchronous(spec.cluster)) await endGroupSessions(paths.socket);
  await setStartUp(paths, "group");
  await closeForTheGroup(paths.socket);
  const { group, primary } = spec.cluster ?? {};
  // The timeline starts here: it had no primary before, so no switchover is needed.
  if (primary?.node === spec.node && spec.data?.origin === "archive")
    await recordUsed(paths, { opened: { term: primary.term } });
  await updateTimeline(paths, { group });
}

async function takePart(context: FollowingContext): Promise<void> {
  const member = ownMember(context.spec);
  if (member === undefined) return;
  const held = await heldReclone(context);
  if (held === undefined) return takePartWith(context, member);
  await takePartWith({ ...context, spec: withoutReclone(context.spec) }, member).catch((error: unknown) => {
    if (!(error instanceof NotYet)) throw error;
  });
  throw held;
}

const takePartWith = (context: FollowingContext, member: OwnMember): Promise<void> =>
  isAsynchronous(member.cluster) ? takePartInFollowing(context, member) : takePartInGroup(context, member);

/** Until it is admitted, the member takes part as if it had no such order, with the data that it has. */
async function heldReclone({ spec, paths, admitDeletion }: MemberContext): Promise<Held | undefined> {
  const { reached } = await readNodeRecord(paths);
  const id = dataGivenUp(spec, { used: await usedIds(paths), hasServed: reached !== undefined });
  if (id === undefined) return undefined;
  const admission = await admitDeletion({ node: spec.node, kind: "reclone", id });
  return admission.kind === "held" ? new Held(admission.message) : undefined;
}

function withoutReclone({ cluster, ...spec }: NodeSpec): NodeSpec {
  if (cluster === undefined) return spec;
  const { reclone: _, ...others } = cluster;
  return { ...spec, cluster: others };
}

/** The first password is set on an unchanged admin account; a later one may find it altered or dropped. */
export const isReset = ({ credentials }: Pick<NodeSpec, "credentials">): boolean => credentials.version > 1;

/** The primary writes them and replication carries them; the other members check whether they have arrived. */
export async function agreeOnCredentials(context: MemberContext): Promise<void> {
  const { spec, paths, adminPassword } = context;
  if ((await credentialsOf(paths.socket, spec)) >= spec.credentials.version) return;
  if (!(await takesWrites({ spec, paths }))) throw new NotYet("the primary to set the password");
  if (isReset(spec)) await repairAdmin(paths.socket, context);
  await writeCredentials(paths.socket, spec, await adminPassword(spec.node));
}

/** Whether the server takes the database's writes: true for a single node, and for the primary of a cluster. */
export async function takesWrites({ spec, paths }: Pick<NodeContext, "spec" | "paths">): Promise<boolean> {
  if (spec.cluster === undefined) return true;
  if (isAsynchronous(spec.cluster))
    return spec.cluster.primary?.node === spec.node && (await readFollowingState(paths.socket)).open;
  const { role, readOnly } = await readGroupState(paths.socket);
  return role === "primary" && !readOnly;
}

/** On this timeline the node had data of a group. */
export const wasMember = async ({ paths }: Pick<NodeContext, "paths">): Promise<boolean> =>
  (await timelineRecord(paths)).group !== undefined;

/**
 * A member whose volume is lost, or whose data are to come from the other members, starts with an empty volume and may
 * only re-clone. It needs no order for that: it may have been offline when the others received theirs.
 */
export async function recloneIfLost({ paths, spec }: Pick<NodeContext, "paths" | "spec">): Promise<void> {
  if (await exists(paths.image)) return;
  if (spec.data?.origin !== "cluster" && !(await wasMember({ paths }))) return;
  // Before the volume exists: an unrecorded empty volume would be taken for its data.
  await mkdir(paths.folder, { recursive: true, mode: 0o711 });
  await recordUsed(paths, { recloning: randomUUID() });
}

/** A member leaves its group first: otherwise the others take no writes until they have expelled it. */
export async function stopServer(context: NodeContext): Promise<void> {
  const { paths, spec, log } = context;
  if (spec.cluster !== undefined && !isAsynchronous(spec.cluster))
    // A member that does not answer, or is in no group, is stopped all the same.
    await leaveGroup(paths.socket).catch((error: unknown) =>
      log.warn({ error: String(error) }, "the server could not leave the group before its stop"),
    );
  await endServer(context);
}
