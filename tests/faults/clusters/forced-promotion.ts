import { until } from "@moorage/testkit/until.ts";
import { othersThan, promotedByTenant, receiptsOf, untilHealthy } from "../../kit/cluster.ts";
import { bothWays, CONTROL_PLANE, cut } from "../../kit/cluster-cuts.ts";
import { seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { without, type Writers, writesAt } from "../../kit/cluster-writers.ts";
import { hostNumbers } from "../../kit/host.ts";
import { tenant } from "../../kit/tenant.ts";
import { powerCut } from "../host-restarted.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { type Measured, trial } from "../trial.ts";
import { callDead } from "./call-dead.ts";
import { requireAmong, requireReportedLoss } from "./lost-with-primary.ts";
import { removeStandingCluster, standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, type Seen, underLoad, untilNewPrimary } from "./under-load.ts";

/**
 * How long a primary that lost its replicas may still accept writes through its proxy; a writer's try itself takes a
 * second.
 */
const CLOSED_WITHIN_MS = 4000;

/**
 * No replica is promoted automatically while an asynchronous primary is unreachable: a person requests it, and is shown
 * the possible loss.
 */
export const forcedPromotion = defineDrill({
  name: "forced-promotion",
  question: "Is every loss reported when a replica of an unreachable asynchronous primary is promoted?",
  hosts: { least: 3, complete: 4 },
  measures: "from the request to the next accepted write",
  goal: "all reported",
  short: leftOut(),
  long: {},
  extent: () =>
    "2 trials: the primary cut off from everything but clients, and its host marked dead, which leaves the stack with one host less",
  async run(run) {
    await trial(run, "asynchronous primary cut off from all but clients: its tenant has another promoted", cutOff);
    if (hostNumbers().length < 4)
      console.log("left out, because it needs a stack of four hosts: asynchronous primary whose host is declared dead");
    else await trial(run, "asynchronous primary on a host declared dead: another is promoted, three hosts again", dead);
    await removeStandingCluster("asynch");
  },
});

async function cutOff(): Promise<Measured> {
  const alice = tenant();
  const cluster = await standingCluster(alice, "asynch");
  const { primary: old, members } = cluster;
  const parties = [CONTROL_PLANE, ...othersThan(old, members).map(({ host }) => host)];
  // Not probed: a write that bypasses the proxy is not a client's write.
  const seen = await underLoad(
    cluster,
    async (writers, load) => {
      const { at, next, promotedAt } = await promoteUnderCut(writers);
      const onlyAtOld = await until("the old primary is back, and reports what it has", 60, async () =>
        without(await writesAt(old, load), await writesAt(next, load)),
      );
      const healed = await untilHealthy(alice, cluster.id, 240);
      return { at, next, promotedAt, onlyAtOld, healed };

      async function promoteUnderCut(clients: Writers) {
        await using link = await cut(
          parties.flatMap((party) => bothWays(old.host, party)),
          hostNumbers(),
        );
        await promotedByTenant(alice, cluster.id, old);
        const requestedAt = Date.now();
        return { at: link.at, promotedAt: requestedAt, next: await untilNewPrimary(old, cluster, clients) };
      }
    },
    { probed: false },
  );
  const { at, next, promotedAt, onlyAtOld, healed } = seen.result;
  requireClosed(seen, at, promotedAt);
  const lost = without(seen.acknowledged, await writesAt(healed.primary, seen.run));
  await requireNoLoss(healed, { ...seen, acknowledged: without(seen.acknowledged, lost) });
  requireAmong(onlyAtOld, lost);
  await requireReportedLoss(alice, cluster.id, {
    at,
    from: old.ordinal,
    to: next.ordinal,
    transactions: onlyAtOld.length,
  });
  const took = timeToRecover(seen.times, promotedAt);
  return {
    note: `${seconds(took)} from the order to the next write; ${countsOf(seen, lost.length)}; ${onlyAtOld.length} transactions only at the old primary, as in the receipt`,
    figures: figuresOf(seen, [took], lost.length),
  };
}

/** Clients could reach the proxy all the time. */
function requireClosed({ times }: Seen<unknown>, cutAt: number, promotedAt: number): void {
  const late = times.filter((at) => at > cutAt + CLOSED_WITHIN_MS && at < promotedAt);
  if (late.length > 0) throw new Error(`${late.length} writes were accepted while the primary was cut off`);
}

/** Permanent: this stack has one host less afterwards. */
async function dead(): Promise<Measured> {
  const alice = tenant();
  const cluster = await standingCluster(alice, "asynch");
  const { primary: old } = cluster;
  const seen = await underLoad(cluster, async (writers) => {
    await powerCut(old.host);
    await callDead([old.host]);
    const calledAt = Date.now();
    await untilNewPrimary(old, cluster, writers);
    const healed = await until("it is three again, elsewhere", 300, async () => {
      const healthy = await untilHealthy(alice, cluster.id, 60);
      return healthy.members.every(({ host }) => host !== old.host) && healthy;
    });
    return { calledAt, healed, healedMs: Date.now() - calledAt };
  });
  const { calledAt, healed, healedMs } = seen.result;
  const lost = without(seen.acknowledged, await writesAt(healed.primary, seen.run));
  await requireNoLoss(healed, { ...seen, acknowledged: without(seen.acknowledged, lost) });
  const [newest] = await receiptsOf(alice, cluster.id);
  if (newest?.planned !== false || newest.transactions_lost !== null)
    throw new Error(`what a dead host had is not known, and the receipt is ${JSON.stringify(newest)}`);
  const took = timeToRecover(seen.times, calledAt);
  return {
    note: `${seconds(took)} from the order to the next write, three again after ${seconds(healedMs)}; ${countsOf(seen, lost.length)}`,
    figures: figuresOf(seen, [took], lost.length),
  };
}
