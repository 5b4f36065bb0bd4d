import { type AcceptedProbe, acceptedProbes, type Probe } from "./cluster-writers.ts";

/**
 * Finds split brains in the writes that members accepted directly: two members in one view, two writes of which neither
 * found the other, one in a view that another had followed, or one by a member outside of any group. Two simultaneous
 * acknowledgements are no error: a former primary may learn late of a write that its successor has. Without a fault the
 * primary changes within a view, so this is for runs without requested switchovers.
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

/** If it is not known what one of them found, their times decide. */
const saw = (one: AcceptedProbe, other: AcceptedProbe): boolean =>
  one.seen === undefined ? one.began >= other.ended : (one.seen[other.prober] ?? 0) >= other.n;

const timeOf = ({ ended }: AcceptedProbe): string => new Date(ended).toISOString();
