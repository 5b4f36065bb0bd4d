import { type AcceptedProbe, acceptedProbes, type Probe } from "./cluster-writers.ts";

/**
 * What is wrong with the writes that members took directly: two of them in one view, two of which neither found the other
 * written, one in a view that another had followed, or one by a member that is in no group. That two were acknowledged at
 * the same time is not wrong: a primary that is not one any more may hear late of a write that its successor has. Without a
 * fault a primary changes within a view, so this is for runs in which nobody asked for another one.
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
    const other = accepted.find(
      (each) => each.prober !== first.prober && each.view !== first.view && saw(each, first) && saw(last, each),
    );
    return other === undefined ? [] : [`${first.prober} took writes as before after ${other.prober} had`];
  });
  const apart = accepted.flatMap((one, index) => {
    const other = accepted
      .slice(0, index)
      .find((each) => each.prober !== one.prober && !saw(one, each) && !saw(each, one));
    if (other === undefined) return [];
    return [`${other.prober} and ${one.prober} each took a write that the other lacked, at ${timeOf(one)}`];
  });
  return [...new Set(alone), ...shared, ...apart, ...resumed];
}

/** Where it is not known what one found, time tells. */
const saw = (one: AcceptedProbe, other: AcceptedProbe): boolean =>
  one.seen === undefined ? one.began >= other.ended : (one.seen[other.prober] ?? 0) >= other.n;

const timeOf = ({ ended }: AcceptedProbe): string => new Date(ended).toISOString();
