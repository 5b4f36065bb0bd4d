import { until } from "@moorage/testkit/until.ts";
import { agreedPrimary, type Cluster, type Member, othersThan } from "../../kit/cluster.ts";
import { splits } from "../../kit/cluster-split.ts";
import {
  acceptedProbes,
  missingAt,
  newRun,
  type Probe,
  startProbers,
  startWriters,
  type Write,
  type Writers,
} from "../../kit/cluster-writers.ts";
import type { CountName, Figures } from "../ledger.ts";

/** What clients observed during a fault or change of their database. */
export type Seen<T> = {
  result: T;
  run: number;
  /** When writes were accepted through the proxies, in milliseconds since 1970. */
  times: number[];
  acknowledged: Write[];
  unsure: number;
  probes: Probe[];
};

/** Eight writers through the proxies and, unless primaries change on request, a prober at every member. */
export async function underLoad<T>(
  cluster: Cluster,
  work: (writers: Writers, run: number) => Promise<T>,
  { probed = true, pauseMs }: { probed?: boolean; pauseMs?: number } = {},
): Promise<Seen<T>> {
  const run = await newRun(cluster);
  const probers = probed ? startProbers(cluster, run) : undefined;
  try {
    await probers?.untilAllAnswer();
    await using writers = await startWriters(cluster, run, pauseMs);
    const result = await work(writers, run);
    const probes = probers?.probes() ?? [];
    const direct = acceptedProbes(probes).map(({ prober, n }) => ({ writer: prober, n }));
    const acknowledged = [...writers.accepted(), ...direct];
    return { result, run, times: writers.times(), acknowledged, unsure: writers.unsure(), probes };
  } finally {
    await probers?.[Symbol.asyncDispose]();
  }
}

/**
 * Every acknowledged write is at the primary now and at the others soon, and no two members ever accepted writes at
 * once.
 */
export async function requireNoLoss(
  { primary, members }: Pick<Cluster, "primary" | "members">,
  { run, acknowledged, probes }: Seen<unknown>,
): Promise<void> {
  const lost = await missingAt(primary, run, acknowledged);
  if (lost.length > 0)
    throw new Error(`${lost.length} of ${acknowledged.length} acknowledged writes are lost: ${listWrites(lost)}`);
  for (const member of othersThan(primary, members))
    await until(
      `member ${member.ordinal} has every acknowledged write`,
      60,
      async () => (await missingAt(member, run, acknowledged)).length === 0,
    );
  const split = splits(probes);
  if (split.length > 0) throw new Error(split.slice(0, 5).join("; "));
}

const listWrites = (writes: readonly Write[]): string =>
  writes
    .slice(0, 5)
    .map(({ writer, n }) => `${writer}/${n}`)
    .join(", ");

export const countsOf = ({ acknowledged, unsure, probes }: Seen<unknown>, lost = 0): string =>
  [
    `${acknowledged.length} writes acknowledged, ${lost} lost, ${unsure} unsure`,
    ...(probes.length > 0 ? [`${probes.length} direct tries, never two members at once`] : []),
  ].join("; ");

/** A time is infinite if no write was accepted after the fault. */
export const figuresOf = (
  { acknowledged, unsure, probes }: Seen<unknown>,
  times: readonly number[],
  lost = 0,
): Figures => ({
  times: times.filter(Number.isFinite),
  counts: {
    acknowledged: acknowledged.length,
    lost,
    unsure,
    ...(probes.length > 0 ? { probes: probes.length } : {}),
  },
});

/** The times of these trials in seconds. */
export const timesIn = (figures: readonly Figures[]): number[] =>
  figures.flatMap(({ times = [] }) => times.map((ms) => Number((ms / 1000).toFixed(1))));

/** Statistics over the trials with these figures. */
export function sumOfCounts(figures: readonly Figures[]): string {
  const sum = (name: CountName): number => figures.reduce((all, { counts }) => all + (counts?.[name] ?? 0), 0);
  return `${sum("acknowledged")} writes acknowledged, ${sum("lost")} lost; ${sum("probes")} direct tries, never two members at once`;
}

/** Another member was elected by the remaining ones, and writes were accepted after that. */
export async function untilNewPrimary(lost: Member, { members }: Cluster, writers: Writers): Promise<Member> {
  const others = othersThan(lost, members);
  const next = await until("another primary is elected", 60, () => agreedPrimary(others));
  await writers.untilAcceptedAfter(Date.now(), 60);
  return next;
}
