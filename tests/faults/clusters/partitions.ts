import { setTimeout as sleep } from "node:timers/promises";
import { turnWithin } from "@moorage/testkit/turns.ts";
import { until } from "@moorage/testkit/until.ts";
import { type Cluster, othersThan, rowsAt, untilHealthy } from "../../kit/cluster.ts";
import { bothWays, CONTROL_PLANE, cut, type Drop, type Party, sureMajority } from "../../kit/cluster-cuts.ts";
import { formatGaps, longestGap, seconds, totalGap } from "../../kit/cluster-gaps.ts";
import { type Read, startReaders } from "../../kit/cluster-writers.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { commitOfRun } from "../commit-sample.ts";
import { defineDrill } from "../drill.ts";
import { type Measured, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, type Seen, underLoad } from "./under-load.ts";

/**
 * A stale primary may answer reads for 3 s. Twice that, because everything is slower on a busy machine; time in which
 * the machine stalls does not count.
 */
const STALE_READS_MS = 6000;
/** How soon the others must accept writes when a primary is cut off from them. */
const MAJORITY_WRITES_SECONDS = 30;

/** How long a link is cut, and for how long in total writes may stop meanwhile. */
const LINK_SECONDS = 60;
const LINK_GAP_MS = 30_000;

type Cut = { name: string; drops: (cluster: Cluster) => Drop[] };

/** By the members' ordinals. */
type Link = [number, number | "control plane"];
const hostLinks: Link[] = [
  [0, 1],
  [1, 2],
  [2, 0],
];
const controlLinks: Link[] = [0, 1, 2].map((one) => [one, "control plane"]);

const namesOf = (links: readonly Link[]): string => links.map((link) => link.join(" | ")).join(", ");
const bothWaysOf =
  (links: readonly Link[]): Cut["drops"] =>
  (cluster) =>
    links.flatMap(([one, other]) => bothWays(hostAt(cluster, one), hostAt(cluster, other)));

/** Every subset of the links between three hosts and the control plane, in both directions. */
function everyCut(): Cut[] {
  const links = [...hostLinks, ...controlLinks];
  return Array.from({ length: 2 ** links.length }, (_, mask) => {
    const cutLinks = links.filter((_link, bit) => mask & (1 << bit));
    return { name: `${mask}: ${namesOf(cutLinks) || "nothing"}`, drops: bothWaysOf(cutLinks) };
  });
}

const hostAt = ({ members }: Cluster, ordinal: number | "control plane"): Party =>
  ordinal === "control plane" ? CONTROL_PLANE : (members.find((each) => each.ordinal === ordinal)?.host ?? -1);

/** The links between hosts, one direction each. */
const oneWayCuts: Cut[] = [
  { name: "packets from the primary are dropped", drops: (cluster) => fromPrimary(cluster) },
  { name: "packets to the primary are dropped", drops: (cluster) => fromPrimary(cluster).map(reversed) },
  {
    name: "packets from the primary to one secondary are dropped",
    drops: (cluster) => fromPrimary(cluster).slice(0, 1),
  },
  {
    name: "packets from one secondary to the primary are dropped",
    drops: (cluster) => fromPrimary(cluster).slice(0, 1).map(reversed),
  },
  { name: "packets from one secondary to the other are dropped", drops: (cluster) => [betweenSecondaries(cluster)] },
  { name: "packets to the next host in a circle are dropped", drops: (cluster) => circle(cluster) },
];
const reversed = ({ from, to }: Drop): Drop => ({ from: to, to: from });
const secondaryHosts = ({ primary, members }: Cluster): number[] =>
  othersThan(primary, members).map(({ host }) => host);
const fromPrimary = (cluster: Cluster): Drop[] =>
  secondaryHosts(cluster).map((to) => ({ from: cluster.primary.host, to }));
const betweenSecondaries = (cluster: Cluster): Drop => {
  const [from = -1, to = -1] = secondaryHosts(cluster);
  return { from, to };
};
const circle = ({ members }: Cluster): Drop[] =>
  members.map(({ host }, at) => ({ from: host, to: members[(at + 1) % members.length]?.host ?? -1 }));

const isolated = (cluster: Cluster, host: number): Drop[] =>
  cluster.members.flatMap((other) => (other.host === host ? [] : bothWays(host, other.host)));

/**
 * Two hosts cannot reach each other, and the third reaches both: each of the two may have the other expelled, so that
 * none, one or both are, depending on the engine's member order and on chance.
 */
const linkCuts: Cut[] = hostLinks.map((link) => ({
  name: `${namesOf([link])} for ${LINK_SECONDS} s`,
  drops: bothWaysOf([link]),
}));

/** One of each kind. */
const fewCuts: Cut[] = [
  { name: "the primary cut off from both others", drops: (cluster) => isolated(cluster, cluster.primary.host) },
  {
    name: "a secondary cut off from all, the control plane too",
    drops: (cluster) => {
      const [host = -1] = secondaryHosts(cluster);
      return [...isolated(cluster, host), ...bothWays(host, CONTROL_PLANE)];
    },
  },
  {
    name: "all hosts cut off from the control plane",
    drops: ({ members }) => members.flatMap(({ host }) => bothWays(host, CONTROL_PLANE)),
  },
  {
    name: "every host alone",
    drops: (cluster) => [
      ...isolated(cluster, cluster.primary.host),
      ...bothWays(betweenSecondaries(cluster).from, betweenSecondaries(cluster).to),
    ],
  },
  ...oneWayCuts.filter((_, at) => at === 0 || at === 4),
];

/** The short form runs every second one, the others the next time that this drill runs. */
const cutsOf = (turn: number): Cut[] => fewCuts.filter((_, at) => at % 2 === turn % 2);

/** The sample of this commit, or all. */
export const partitions = defineDrill({
  name: "partitions",
  question: "Does any cut between three hosts and the control plane cause a lost write or two primaries?",
  hosts: { least: 3 },
  measures: "longest time without a write",
  goal: "no split, 0 lost",
  short: { few: true, holdSeconds: 10 },
  long: { few: false, holdSeconds: 20 },
  extent: ({ few, holdSeconds }) =>
    few
      ? `3 of 6 cuts, the others the next time, ${holdSeconds} s each`
      : `all 64 cuts of the six links and 6 one-way ones, ${holdSeconds} s each; each link between hosts for ${LINK_SECONDS} s`,
  async run(run, { few, holdSeconds }) {
    const cuts = few ? cutsOf(turnWithin(commitOfRun())) : [...everyCut(), ...oneWayCuts];
    let passed = 0;
    for (const each of cuts)
      if (await trial(run, `partition ${each.name}`, () => runPartition(each, holdSeconds * 1000))) passed++;
    const long = few ? [] : linkCuts;
    for (const each of long)
      if (await trial(run, `partition ${each.name}`, () => runPartition(each, LINK_SECONDS * 1000, LINK_GAP_MS)))
        passed++;
    console.log(`partitions: ${cuts.length + long.length} cuts, ${passed} of them without a split, a loss or a person`);
  },
});

type PartitionResult = { at: number; healedAt: number; reads: Read[]; stale: string };

async function runPartition(
  { drops: dropsOf }: Cut,
  holdMs: number,
  mostGapMs = Number.POSITIVE_INFINITY,
): Promise<Measured> {
  const alice = tenant();
  const cluster = await standingCluster(alice);
  const hosts = cluster.members.map(({ host }) => host);
  const drops = dropsOf(cluster);
  const majority = sureMajority(drops, hosts);
  const [server] = await rowsAt<{ uuid: string }>(cluster.primary, "select @@server_uuid as uuid");
  const seen = await underLoad(cluster, async (writers): Promise<PartitionResult> => {
    await using readers = startReaders(cluster);
    await until("every proxy is read", 20, async () => new Set(readers.reads().map(({ proxy }) => proxy)).size === 3);
    await using activeCut = await cut(drops, hosts);
    if (majority !== undefined) {
      // Writes that were in flight before the cut do not count.
      const others = majority.length < hosts.length && !majority.includes(cluster.primary.host);
      await writers.untilAcceptedAfter(activeCut.at + (others ? STALE_READS_MS : 0), MAJORITY_WRITES_SECONDS);
    }
    await sleep(Math.max(0, activeCut.at + holdMs - Date.now()));
    const healedAt = Date.now();
    await activeCut.heal();
    await writers.untilAcceptedAfter(healedAt, 180);
    return { at: activeCut.at, healedAt, reads: readers.reads(), stale: server?.uuid ?? "" };
  });
  if (majority !== undefined && !majority.includes(cluster.primary.host)) requireNoStaleReads(seen.result);
  const measured = await summarize(alice, cluster, seen);
  if (totalGap(seen.times, seen.result.at) > mostGapMs)
    throw new Error(`without a write for ${formatGaps(seen.times, seen.result.at)}, otherwise well: ${measured.note}`);
  return measured;
}

/** Through any proxy: clients reach all of them, including that of the host that was cut off. */
function requireNoStaleReads({ at, healedAt, reads, stale }: PartitionResult): void {
  const cutMs = Math.max(0, ...reads.filter((read) => read.at <= at).map(({ askedMs }) => askedMs));
  const late = reads.filter(
    (read) => read.server === stale && read.askedMs > cutMs + STALE_READS_MS && read.at < healedAt,
  );
  if (late.length > 0)
    throw new Error(
      `${late.length} reads by the old primary, the last ${seconds((late.at(-1)?.at ?? 0) - at)} after it was cut off`,
    );
}

async function summarize(alice: Tenant, cluster: Cluster, seen: Seen<PartitionResult>): Promise<Measured> {
  const healed = await untilHealthy(alice, cluster.id, 240);
  await requireNoLoss(healed, seen);
  const gap = longestGap(seen.times, seen.result.at);
  return {
    note: `longest time without a write ${seconds(gap)}, whole ${seconds(Date.now() - seen.result.healedAt)} after it; ${countsOf(seen)}`,
    figures: figuresOf(seen, [gap]),
  };
}
