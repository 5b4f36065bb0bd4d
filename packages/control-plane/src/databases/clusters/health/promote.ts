import { toTimestamp } from "@moorage/contract";
import type { Leader } from "@moorage/contract/agent";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Once } from "#platform/http/once.ts";
import { requireActionAllowed } from "../../database.ts";
import { lockDatabase } from "../../database-store.ts";
import { wakeHosts } from "../../want-specs.ts";
import { isAsynchronous, isCluster } from "../cluster-spec.ts";
import { chooseSuccessor, type Successor } from "./choose-successor.ts";
import { conditionOf, isHeard, type MemberSeen } from "./member-condition.ts";
import { promoteTo } from "./promotion.ts";
import { seeLeader, seeMembers } from "./see-cluster.ts";

type PromoteDeps = { db: Db; clock: Clock };
type Asked = { id: number; acceptsLoss: boolean };

const refused = (why: string): DomainError =>
  new DomainError("wrong-state", { reason: `Cannot promote a node of this database: ${why}` });

/**
 * A tenant has another node lead although the leader may live: what only that one has is lost, so it is told first, and must
 * be accepted. It does not wait for whatever else is under way.
 */
export async function promote(deps: PromoteDeps, by: Principal, { id, acceptsLoss }: Asked, once: Once): Promise<void> {
  const wanted = await transact(deps.db, "api.promoteMysqlNode", async (tx) => {
    await once.claim(tx);
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    requireActionAllowed("promote a node of", database.status);
    if (!isCluster(database))
      throw refused("it has one node, and no other to lead. Only databases of three nodes (cluster_size 3) have one.");
    if (!isAsynchronous(database))
      throw refused("its nodes elect another by themselves as soon as two of them are together.");
    const now = deps.clock();
    const members = await seeMembers(tx, database, { now });
    const { leader, archived } = await seeLeader(tx, database, members);
    const old = leaderOf(members, leader);
    const next = successorOf(chooseSuccessor(members, old.node, archived));
    if (!acceptsLoss)
      throw refused(
        `${lastHeard(old, now)} Node ${next.ordinal} would lead in its place, and what it has not received is lost. Accept that with "accept_loss": true, or wait until node ${old.ordinal} is back.`,
      );
    const promoted = await promoteTo(tx, database, { node: next.node, over: "word" }, { actor: by.username, at: now });
    await once.keep(tx, {});
    return promoted;
  });
  await wakeHosts(deps.db, wanted);
}

/** The one that leads, if it cannot be asked to give over. */
function leaderOf(members: readonly MemberSeen[], leader: Leader | undefined): MemberSeen {
  const conditions = members.map((member) => conditionOf(member, { hostSilentSeconds: Infinity }));
  const own = members.find(({ node }) => node === leader?.node);
  if (leader === undefined || own === undefined || members.length < 3)
    throw refused("not all of its nodes are known. Try again in a moment.");
  if (members.some(({ node }, n) => node !== own.node && conditions[n] === "healthy"))
    throw refused("its other nodes follow the primary, so that it serves. A switchover loses nothing.");
  const hasEnded = conditions[members.indexOf(own)] === "broken" || (own.report?.fenced ?? 0) >= leader.term;
  if (isHeard(own.host) && !hasEnded)
    throw refused("its primary is heard, so that it comes back by itself. Then a switchover loses nothing.");
  return own;
}

function successorOf(next: Successor): Exclude<Successor, string> {
  if (next === "wait") throw refused("its other nodes have not said yet what they have. Try again in a moment.");
  if (next === "again") throw refused("none of its other nodes answers.");
  if (next === "restore")
    throw refused("its backups have more than the nodes that are left. Restore it to the newest point in time.");
  return next;
}

function lastHeard({ ordinal, host, unhealthySeconds }: MemberSeen, now: Date): string {
  const seconds = Math.round(isHeard(host) ? unhealthySeconds : host.silentSeconds);
  const at = toTimestamp(new Date(now.getTime() - seconds * 1000));
  return `node ${ordinal} leads, and was last ${isHeard(host) ? "well" : "heard of"} at ${at} UTC, ${seconds} seconds ago.`;
}
