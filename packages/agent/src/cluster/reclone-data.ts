import { step } from "@moorage/crash-points";
import { setStartUp } from "../disk/start-up.ts";
import type { OwnMember } from "../member.ts";
import type { NodeContext } from "../node-context.ts";
import { recordUsed, updateTimeline } from "../node-state.ts";
import { endServer } from "../stop-server.ts";
import { membersPassword } from "./group-secret.ts";
import { takeDataOf } from "./group-sql.ts";
import { NotYet } from "./not-yet.ts";
import { recordSteps } from "./record-steps.ts";

/**
 * The engine refuses to clone into a server with `super_read_only`. The server is restarted without it, closed to
 * tenants only, and never opened in this state: another member takes the writes.
 */
export async function restartForClone(context: NodeContext): Promise<void> {
  await setStartUp(context.paths, "closed");
  await endServer(context);
  throw new NotYet("the server to restart", 0);
}

export async function recloneData(
  context: NodeContext,
  { cluster, peerPort }: OwnMember,
  { id, donor }: { id: string; donor: string },
): Promise<void> {
  const { paths, log } = context;
  const password = await membersPassword(context);
  const address = cluster.members.find(({ node }) => node === donor)?.address;
  if (address === undefined) throw new Error(`${donor} is not a member.`);
  await step(recordSteps.reclone, () => recordUsed(paths, { recloning: id }));
  const started = performance.now();
  await takeDataOf(paths.socket, { address, port: peerPort }, password);
  log.info({ donor, ms: Math.round(performance.now() - started) }, "re-cloned the data of another member");
  // The server ends by itself after the clone, and must not be taken for one that can join.
  await endServer(context);
  await setStartUp(paths, "group");
  await updateTimeline(paths, { group: cluster.group });
  await recordUsed(paths, { recloned: id });
  throw new NotYet("the server to start with the data of another member", 0);
}
