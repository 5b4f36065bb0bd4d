import { sql } from "kysely";
import type { HostsToWake } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import { type DatabaseRow, lockDatabase } from "../../database-store.ts";
import { wakeHosts } from "../../desired-specs.ts";
import { isAsynchronous } from "../cluster-spec.ts";
import { confirmWhenHealthy } from "../async-primary/confirm-primary.ts";
import { judgeCluster } from "./cluster-health.ts";
import type { HealthSettings } from "./member-condition.ts";
import { promoteTo } from "./promotion.ts";
import { observeCluster } from "./observe-cluster.ts";

type Moment = { now: Date; since: Date };
type PromoteDeps = HealthSettings & { db: Db; clock: Clock; log: Log };

/** Nobody accepts writes until then. */
const POLL_MS = 1000;
const BATCH = 100;

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
  if (next.do !== "promote" || seen.members.length < database.cluster_size) return { hosts: [] };
  return promoteTo(tx, database, { node: next.node, reason: next.reason }, { actor: "health", at: moment.now });
}

/** Checks ended primaries more often than the health job, which does everything else for their clusters. */
export function startPromoting({ db, clock, log, hostSilentSeconds }: PromoteDeps): { close(): Promise<void> } {
  const { pause, wake } = createPause(POLL_MS);
  const since = clock();
  let closed = false;
  const round = async (): Promise<void> => {
    for (const { account_id, database_id } of await findEnded(db, clock())) {
      const toWake = await transact(db, "worker.check-cluster", async (tx) => {
        const database = await lockDatabase(tx, account_id, database_id);
        return promoteSuccessor({ hostSilentSeconds }, tx, database, { now: clock(), since });
      });
      await wakeHosts(db, toWake);
    }
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
const findEnded = (db: Db, now: Date): Promise<{ account_id: number; database_id: number }[]> =>
  db
    .selectFrom("clusters")
    .innerJoin("primary_terms", "primary_terms.database_id", "clusters.database_id")
    .innerJoin("members", "members.node_id", "primary_terms.node_id")
    .innerJoin("nodes", "nodes.id", "primary_terms.node_id")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .select(["clusters.account_id", "clusters.database_id"])
    .where("clusters.check_at", "<=", now)
    .where((is) =>
      is.or([is("hosts.state", "=", "dead"), sql<boolean>`(members.report ->> 'fenced')::int >= primary_terms.term`]),
    )
    .limit(BATCH)
    .execute();
