import { toTimestamp } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { requireActionAllowed } from "../../database.ts";
import { lockDatabase } from "../../database-store.ts";
import { wakeHosts } from "../../desired-specs.ts";
import { isAsynchronous, isCluster } from "../cluster-spec.ts";
import { chooseSuccessor, type Successor } from "./choose-successor.ts";
import { conditionOf, isReachable, type ObservedMember } from "./member-condition.ts";
import { promoteTo } from "./promotion.ts";
import { observePrimary, observeMembers } from "./observe-cluster.ts";

type PromoteDeps = { db: Db; clock: Clock };
type PromoteRequest = { id: number; acceptsLoss: boolean };

const refused = (why: string): DomainError =>
  new DomainError("wrong-state", { reason: `Cannot promote a node of this database: ${why}` });

/**
 * A tenant promotes another node although the primary may be alive. Transactions that only the old one has are lost, so
 * the tenant must accept that first. Does not wait for other operations.
 */
export async function promote(
  deps: PromoteDeps,
  by: Principal,
  { id, acceptsLoss }: PromoteRequest,
  idempotency: Idempotency,
): Promise<void> {
  const toWake = await transact(deps.db, "api.promoteMysqlNode", async (tx) => {
    await idempotency.claim(tx);
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    requireActionAllowed("promote a node of", database.status);
    if (!isCluster(database))
      throw refused("it has one node, and no other to lead. Only databases of three nodes (cluster_size 3) have one.");
    if (!isAsynchronous(database))
      throw refused("its nodes elect another by themselves as soon as two of them are together.");
    const now = deps.clock();
    const members = await observeMembers(tx, database, { now });
    const { primary, archived } = await observePrimary(tx, database, members);
    const old = primaryToReplace(members, primary);
    const next = successorOf(chooseSuccessor(members, old.node, archived));
    if (!acceptsLoss)
      throw refused(
        `${lastSeen(old, now)} Node ${next.ordinal} would lead in its place, and what it has not received is lost. Accept that with "accept_loss": true, or wait until node ${old.ordinal} is back.`,
      );
    const promoted = await promoteTo(
      tx,
      database,
      { node: next.node, reason: "forced" },
      { actor: by.username, at: now },
    );
    await idempotency.keep(tx, {});
    return promoted;
  });
  await wakeHosts(deps.db, toWake);
}

/** The primary, if it cannot hand over. */
function primaryToReplace(members: readonly ObservedMember[], primary: PrimaryTerm | undefined): ObservedMember {
  const conditions = members.map((member) => conditionOf(member, { hostSilentSeconds: Infinity }));
  const own = members.find(({ node }) => node === primary?.node);
  if (primary === undefined || own === undefined || members.length < 3)
    throw refused("not all of its nodes are known. Try again in a moment.");
  if (members.some(({ node }, n) => node !== own.node && conditions[n] === "healthy"))
    throw refused("its other nodes follow the primary, so that it serves. A switchover loses nothing.");
  const hasEnded = conditions[members.indexOf(own)] === "broken" || (own.report?.fenced ?? 0) >= primary.term;
  if (isReachable(own.host) && !hasEnded)
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

function lastSeen({ ordinal, host, unhealthySeconds }: ObservedMember, now: Date): string {
  const seconds = Math.round(isReachable(host) ? unhealthySeconds : host.silentSeconds);
  const at = toTimestamp(new Date(now.getTime() - seconds * 1000));
  return `node ${ordinal} leads, and was last ${isReachable(host) ? "well" : "heard of"} at ${at} UTC, ${seconds} seconds ago.`;
}
