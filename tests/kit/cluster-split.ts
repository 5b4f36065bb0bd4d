import { type AcceptedProbe, acceptedProbes, type Probe } from "./cluster-writers.ts";

/**
 * What is wrong with the writes that members took directly: two of them in one view, two at the same time, one in a view
 * that another had followed, or one by a member that is in no group. Without a fault a primary changes within a view, so
 * this is for runs in which nobody asked for another one.
 */
export function splits(probes: readonly Probe[]): string[] {
  const accepted = acceptedProbes(probes).toSorted((one, other) => one.ended - other.ended);
  const alone = accepted
    .filter(({ view }) => view === "none")
    .map(({ prober }) => `member ${prober} wrote in no group`);
  const views = Object.entries(Object.groupBy(accepted, ({ view }) => view)).filter(([view]) => view !== "unknown");
  const shared = views.flatMap(([view, group = []]) => {
    const by = new Set(group.map(({ prober }) => prober));
    return by.size < 2 ? [] : [`in the view ${view} ${[...by].join(" and ")} took writes`];
  });
  const resumed = views.flatMap(([, group = []]) => {
    const [first, last] = [group[0] as AcceptedProbe, group.at(-1) as AcceptedProbe];
    const between = accepted.slice(accepted.indexOf(first), accepted.indexOf(last));
    const other = between.find(({ prober, view }) => prober !== first.prober && view !== first.view);
    return other === undefined ? [] : [`${first.prober} took writes as before after ${other.prober} had`];
  });
  // Each try of a prober waits for the one before it, so neighbours in time are all that can overlap.
  const atOnce = accepted.slice(1).flatMap((probe, index) => {
    const before = accepted[index] as (typeof accepted)[0];
    if (before.prober === probe.prober || probe.began >= before.ended) return [];
    return [`${before.prober} and ${probe.prober} took writes at ${new Date(before.ended).toISOString()}`];
  });
  return [...new Set(alone), ...shared, ...atOnce, ...resumed];
}
