import { step } from "@moorage/crash-points";
import { setStartUp } from "../../disk/server-writes.ts";
import { isAsynchronous, type OwnMember } from "../../specs/member.ts";
import { type MemberContext, recordSteps } from "./member-context.ts";
import { forgetOpening, recordUsed, updateTimeline } from "../../specs/node-state.ts";
import { membersPassword } from "./group-secret.ts";
import { takeDataOf } from "./member-sql.ts";
import { NotYet } from "../../base/try-again.ts";
import type { NodeContext } from "../../node/node-context.ts";
import { containerName, settled } from "../../node/podman.ts";

/**
 * The engine refuses to clone into a server with `super_read_only`. The server is restarted without it, closed to
 * tenants only, and never opened in this state: another member takes the writes.
 */
export async function restartForClone(context: MemberContext): Promise<void> {
  await setStartUp(context.paths, "closed");
  await endServer(context);
  throw new NotYet("the server to restart", 0);
}

export async function recloneData(
  context: MemberContext,
  { cluster, peerPort }: OwnMember,
  { id, donor }: { id: string; donor: string },
): Promise<void> {
  const { spec, paths } = context;
  const password = await membersPassword(context);
  const address = cluster.members.find(({ node }) => node === donor)?.address;
  if (address === undefined) throw new Error(`${donor} is not a member.`);
  const from = { donor, address, port: peerPort, password, group: cluster.group };
  await context.background.run(spec.node, {
    name: `clone ${id}`,
    waitsFor: "the data of another member",
    clone: { id, donor, ordinal: paths.ordinal },
    run: (signal) => clone(context, id, from, signal),
  });
  throw new NotYet("the server to start with the data of another member", 0);
}

type Donor = { donor: string; address: string; port: number; password: string; group: string };

async function clone(context: MemberContext, id: string, from: Donor, signal: AbortSignal): Promise<void> {
  const { paths, log } = context;
  await step(recordSteps.reclone, () => recordUsed(paths, { recloning: id }));
  const started = performance.now();
  await takeDataOf(paths.socket, from, from.password, signal);
  signal.throwIfAborted();
  log.info({ donor: from.donor, ms: Math.round(performance.now() - started) }, "re-cloned the data of another member");
  // The server ends by itself after the clone, and must not be taken for one that can join.
  await endServer(context);
  await setStartUp(paths, "group");
  await updateTimeline(paths, { group: from.group });
  await recordUsed(paths, { recloned: id });
}

/**
 * SIGTERM, then SIGKILL after a minute: after a clean end, the next start needs no recovery. The opening is forgotten
 * first, so that the stop of a primary is not taken for a crash.
 */
export async function endServer({ podman, paths, spec }: NodeContext): Promise<void> {
  if (isAsynchronous(spec.cluster)) await forgetOpening(paths);
  await settled(podman.client.getContainer(containerName(spec.node)).stop({ t: 60 }));
}
