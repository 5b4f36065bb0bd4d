import { toTimestamp } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Text } from "@moorage/contract/texts";
import { requireActionAllowed } from "../../database.ts";
import { lockDatabase } from "../../database-store.ts";
import { wakeHosts } from "../../desired-specs.ts";
import { isAsynchronous, isCluster } from "../cluster-spec.ts";
import { texts } from "../texts.ts";
import { chooseSuccessor, type Successor } from "./choose-successor.ts";
import { conditionOf, isReachable, type ObservedMember } from "./member-condition.ts";
import { promoteTo } from "./promotion.ts";
import { observePrimary, observeMembers } from "./observe-cluster.ts";

type PromoteDeps = { db: Db; clock: Clock };
type PromoteRequest = { id: number; acceptsLoss: boolean };

const refused = (reason: Text): DomainError => new DomainError("wrong-state", { reason });

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
    if (!isCluster(database)) throw refused(texts.promoteSingleNode());
    if (!isAsynchronous(database)) throw refused(texts.promoteElected());
    const now = deps.clock();
    const members = await observeMembers(tx, database, { now });
    const { primary, archived } = await observePrimary(tx, database, members);
    const old = primaryToReplace(members, primary);
    const next = successorOf(chooseSuccessor(members, old.node, archived));
    if (!acceptsLoss)
      throw refused(texts.promoteLossNotAccepted({ primary: old.ordinal, next: next.ordinal, ...lastSeen(old, now) }));
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
  if (primary === undefined || own === undefined || members.length < 3) throw refused(texts.promoteNodesUnknown());
  if (members.some(({ node }, n) => node !== own.node && conditions[n] === "healthy"))
    throw refused(texts.promotePrimaryServes());
  const hasEnded = conditions[members.indexOf(own)] === "broken" || (own.report?.fenced ?? 0) >= primary.term;
  if (isReachable(own.host) && !hasEnded) throw refused(texts.promotePrimaryReachable());
  return own;
}

function successorOf(next: Successor): Exclude<Successor, string> {
  if (next === "wait") throw refused(texts.promoteReplicasPending());
  if (next === "again") throw refused(texts.promoteNoReplica());
  if (next === "restore") throw refused(texts.promoteBackupsAhead());
  return next;
}

function lastSeen({ host, unhealthySeconds }: ObservedMember, now: Date) {
  const [state, age] = isReachable(host)
    ? (["healthy", unhealthySeconds] as const)
    : (["seen", host.silentSeconds] as const);
  const seconds = Math.round(age);
  return { state, seconds, at: toTimestamp(new Date(now.getTime() - seconds * 1000)) };
}
