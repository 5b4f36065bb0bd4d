import { setTimeout as sleep } from "node:timers/promises";
import { runStatement, clientA } from "../../kit/client.ts";
import { ownView, untilHealthy } from "../../kit/cluster.ts";
import { longestGap, seconds } from "../../kit/cluster-gaps.ts";
import { startBurners } from "../../kit/cluster-writers.ts";
import { query } from "../../kit/records.ts";
import { tenant } from "../../kit/tenant.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, underLoad } from "./under-load.ts";

/** More sessions than a node of the cluster has processors. */
const SESSIONS = 3;
const EVERY_MS = 60_000;

/** 100 rows of a mebibyte that does not repeat within a row, in one transaction. */
const LARGE = `create table if not exists drill.large (id int auto_increment primary key, page mediumblob);
  truncate table drill.large;
  insert into drill.large (page) with recursive n (i) as (select 1 union all select i + 1 from n where i < 100)
    select repeat(sha2(concat(i, rand()), 512), 8192) from n`;

/** Full load without a fault: no election may happen. */
export const soak = defineDrill({
  name: "soak",
  question: "Does a cluster under full load without a fault have no election, and lose no write?",
  hosts: { least: 3 },
  measures: "longest time without a write",
  goal: "0 elections, 0 lost",
  short: leftOut(),
  long: { minutes: 30 },
  extent: ({ minutes }) =>
    `${minutes} minutes with ${SESSIONS} busy sessions at the primary and ${SESSIONS} at the others, and a transaction of 100 MB each minute`,
  run: (run, { minutes }) =>
    trial(run, `${minutes} minutes at the limit of its processors with large transactions: no election`, async () => {
      const alice = tenant();
      const cluster = await standingCluster(alice);
      const { id, door, members, primary } = cluster;
      const { read_only_port } = (await alice.view(id)).body;
      const endsAt = Date.now() + minutes * 60_000;
      const seen = await underLoad(
        cluster,
        async (writers) => {
          const since = Date.now();
          await using atPrimary = startBurners(cluster, door.port, SESSIONS, endsAt);
          await using atSecondaries = startBurners(cluster, read_only_port ?? 0, SESSIONS, endsAt);
          const views = new Set<string>();
          let transactions = 0;
          while (Date.now() < endsAt) {
            const next = Date.now() + EVERY_MS;
            await runStatement(clientA(), door, LARGE, { seconds: 120 });
            transactions++;
            for (const view of await Promise.all(members.map(ownView))) views.add(JSON.stringify(view));
            await sleep(Math.max(0, Math.min(next, endsAt) - Date.now()));
          }
          await Promise.all([atPrimary.ended, atSecondaries.ended]);
          await writers.untilAcceptedAfter(Date.now(), 60);
          const ended = [atPrimary, atSecondaries].map(({ lines }) => lines.length);
          return { since, transactions, views: [...views], ended };
        },
        { probed: false, pauseMs: 100 },
      );
      const after = await untilHealthy(alice, id, 120);
      await requireNoLoss(after, seen);
      const { since, transactions, views, ended } = seen.result;
      const changes = await query("select 1 from primary_changes where database_id = $1 and at >= $2", [
        id,
        new Date(since),
      ]);
      if (changes.length > 0 || after.primary.node !== primary.node || views.length > 1)
        throw new Error(`${changes.length} elections; members saw ${views.join(" and ")}`);
      const gap = longestGap(seen.times, since);
      const { times = [], counts } = figuresOf(seen, [gap]);
      return {
        note: `0 elections, ${transactions} transactions of 100 MB, longest time without a write ${seconds(gap)}; ${ended.join(" and ")} busy sessions ended at the primary and the others; ${countsOf(seen)}`,
        figures: { times, counts: { ...counts, elections: changes.length } },
      };
    }),
});
