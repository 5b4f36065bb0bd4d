import { sql } from "kysely";
import type { Wanted } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import { type DatabaseRow, lockDatabase } from "../../database-store.ts";
import { wakeHosts } from "../../want-specs.ts";
import { isAsynchronous } from "../cluster-spec.ts";
import { confirmWhenWell } from "../leaders/confirm-leader.ts";
import { judgeCluster } from "./cluster-health.ts";
import type { HealthSettings } from "./member-condition.ts";
import { promoteTo } from "./promotion.ts";
import { seeCluster } from "./see-cluster.ts";

type Moment = { now: Date; since: Date };
type PromoteDeps = HealthSettings & { db: Db; clock: Clock; log: Log };

/** Nobody takes writes until then. */
const POLL_MS = 1000;
const BATCH = 100;

/**
 * Where it is seen that the leader has ended, another leads, whatever else is under way. Hosts and nodes are locked here, so
 * that nobody may have locked the cluster yet. What their hosts say meanwhile changes nothing: who has ended has.
 */
export async function promoteLeader(
  settings: HealthSettings,
  tx: Tx,
  database: DatabaseRow,
  moment: Moment,
): Promise<Wanted> {
  if (!isAsynchronous(database) || database.deleted_at !== null) return { hosts: [] };
  const seen = await seeCluster(tx, database, moment);
  const { next } = judgeCluster(seen, settings);
  if (next.do === "nothing") return confirmWhenWell(tx, database, seen.members, moment.now);
  if (next.do !== "promote" || seen.members.length < database.cluster_size) return { hosts: [] };
  return promoteTo(tx, database, { node: next.node, over: next.over }, { actor: "health", at: moment.now });
}

/** Looks at leaders that have ended more often than at anything else. Everything about their clusters is the chore's. */
export function startPromoting({ db, clock, log, hostSilentSeconds }: PromoteDeps): { close(): Promise<void> } {
  const { pause, wake } = createPause(POLL_MS);
  const since = clock();
  let closed = false;
  const round = async (): Promise<void> => {
    for (const { account_id, database_id } of await findEnded(db, clock())) {
      const wanted = await transact(db, "worker.look-at-cluster", async (tx) => {
        const database = await lockDatabase(tx, account_id, database_id);
        return promoteLeader({ hostSilentSeconds }, tx, database, { now: clock(), since });
      });
      await wakeHosts(db, wanted);
    }
  };
  const loop = (async () => {
    while (!closed) {
      await round().catch((error: unknown) =>
        log.warn({ err: error }, "could not look at leaders that have ended; the next round goes on"),
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

/** There is news of them, so that only a few are looked through. */
const findEnded = (db: Db, now: Date): Promise<{ account_id: number; database_id: number }[]> =>
  db
    .selectFrom("clusters")
    .innerJoin("leaders", "leaders.database_id", "clusters.database_id")
    .innerJoin("members", "members.node_id", "leaders.node_id")
    .innerJoin("nodes", "nodes.id", "leaders.node_id")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .select(["clusters.account_id", "clusters.database_id"])
    .where("clusters.look_at", "<=", now)
    .where((is) =>
      is.or([is("hosts.state", "=", "dead"), sql<boolean>`(members.report ->> 'fenced')::int >= leaders.term`]),
    )
    .limit(BATCH)
    .execute();
