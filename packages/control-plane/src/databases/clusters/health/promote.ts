import { toTimestamp } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { lockDatabase } from "../../model/database-store.ts";
import { isAsynchronous, isCluster, requireActionAllowed } from "../../model/database.ts";
import { wakeHosts } from "../../spec/desired-specs.ts";
import { isReachable, type ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";
import { chooseSuccessor, type Successor } from "./choose-successor.ts";
import { observeMembers, observePrimary } from "./observe-cluster.ts";
import { primaryToReplace } from "./primary-to-replace.ts";
import { promoteTo } from "./promote-successors.ts";

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
    const { primary, archived } = await observePrimary(tx, database, members, now);
    const old = primaryToReplace(members, primary);
    if ("refusal" in old) throw refused(old.refusal);
    const next = successorOf(chooseSuccessor(members, old.node, archived));
    if (!acceptsLoss)
      throw refused(texts.promoteLossNotAccepted({ primary: old.ordinal, next: next.ordinal, ...lastSeen(old, now) }));
    const promoted = await promoteTo(
      tx,
      database,
      { node: next.node, reason: "forced", from: old.node },
      { actor: by.username, at: now },
    );
    await idempotency.keep(tx, {});
    return promoted;
  });
  await wakeHosts(deps.db, toWake);
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
