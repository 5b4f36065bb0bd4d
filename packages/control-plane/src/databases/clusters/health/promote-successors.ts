import type { PrimaryTerm } from "@moorage/contract/agent";
import { sql } from "kysely";
import type { HostsToWake } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import { type DatabaseRow, lockDatabase } from "../../model/database-store.ts";
import { isAsynchronous } from "../../model/database.ts";
import { targetOf } from "../../model/entity.ts";
import { wakeHosts } from "../../spec/desired-specs.ts";
import { sendPrimary, setPrimary } from "../../spec/primary-store.ts";
import { confirmWhenHealthy } from "../async-primary/hand-over.ts";
import type { HealthSettings } from "../member-condition.ts";
import { judgeCluster } from "./cluster-health.ts";
import { observeCluster } from "./observe-cluster.ts";

type Moment = { now: Date; since: Date };
type PromoteDeps = HealthSettings & { db: Db; clock: Clock; log: Log; eachDue: EachDue };

/** Nobody accepts writes until then. */
const POLL_MS = 1000;
const BATCH = 100;
const BACK_OFF = { leastMs: POLL_MS, mostMs: 30_000 };

/**
 * Promotes a successor when the primary has ended, whatever other operation is under way. Locks hosts and nodes, so the
 * caller must not have locked the cluster yet. A report that arrives meanwhile changes nothing: a fenced primary stays
 * fenced.
 */
export async function promoteSuccessor(
  settings: HealthSettings,
  tx: Tx,
  database: DatabaseRow,
  moment: Moment,
): Promise<HostsToWake> {
  if (!isAsynchronous(database) || database.deleted_at !== null) return { hosts: [] };
  const seen = await observeCluster(tx, database, moment);
  const { next } = judgeCluster(seen, settings);
  if (next.do === "nothing") return confirmWhenHealthy(tx, database, seen.members, moment.now);
  if (seen.members.length < database.cluster_size) return { hosts: [] };
  const by = { actor: "health", at: moment.now };
  if (next.do === "promote") return promoteTo(tx, database, { node: next.node, reason: next.reason }, by);
  if (next.do !== "withdraw") return { hosts: [] };
  const from = seen.asynch?.primary?.node;
  return promoteTo(tx, database, { node: next.node, reason: "handover", ...(from !== undefined && { from }) }, by);
}

/**
 * Makes a member primary, perhaps the same one in a new term: row and specs of all members change together. The rest of
 * the specs stays, and so does every wait for it. The caller has locked the database's row, and no row of a cluster or
 * member yet.
 */
export async function promoteTo(
  tx: Tx,
  database: DatabaseRow,
  next: Omit<PrimaryTerm, "term">,
  { actor, at }: { actor: string; at: Date },
): Promise<HostsToWake> {
  const { account_id, id } = database;
  const primary = await setPrimary(tx, database, next, at);
  const toWake = await sendPrimary(tx, database, primary);
  await audit(tx, { at, account: account_id, actor, action: "promote_node", target: targetOf(id), detail: primary });
  return toWake;
}

/** Checks ended primaries more often than the health job, which does everything else for their clusters. */
export function startPromoting(deps: PromoteDeps): { close(): Promise<void> } {
  const { db, clock, log, hostSilentSeconds } = deps;
  const each = deps.eachDue("promotion", "database", BACK_OFF);
  const { pause, wake } = createPause(POLL_MS);
  const since = clock();
  let closed = false;
  const round = async (): Promise<void> => {
    await each.run(await findEnded(db, clock(), BATCH + each.skipped()), async ({ account_id, id }) => {
      const toWake = await transact(db, "worker.check-cluster", async (tx) => {
        const database = await lockDatabase(tx, account_id, id);
        return promoteSuccessor({ hostSilentSeconds }, tx, database, { now: clock(), since });
      });
      await wakeHosts(db, toWake);
    });
  };
  const loop = (async () => {
    while (!closed) {
      await round().catch((error: unknown) =>
        log.warn({ err: error }, "ended primaries could not be checked; the next round continues"),
      );
      if (!closed) await pause();
    }
  })();
  return {
    async close() {
      closed = true;
      wake();
      await loop;
    },
  };
}

/** Only clusters with new reports: they are few. */
const findEnded = (db: Db, now: Date, most: number): Promise<{ account_id: number; id: number }[]> =>
  db
    .selectFrom("clusters")
    .innerJoin("primary_terms", "primary_terms.database_id", "clusters.database_id")
    .innerJoin("members", "members.node_id", "primary_terms.node_id")
    .innerJoin("nodes", "nodes.id", "primary_terms.node_id")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .select(["clusters.account_id", "clusters.database_id as id"])
    .where("clusters.check_at", "<=", now)
    .where((is) =>
      is.or([is("hosts.state", "=", "dead"), sql<boolean>`(members.report ->> 'fenced')::int >= primary_terms.term`]),
    )
    .limit(most)
    .execute();
