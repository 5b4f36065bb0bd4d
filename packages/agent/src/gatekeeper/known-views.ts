import type { MemberView } from "@moorage/contract/agent";
import type { Sample } from "./sample-member.ts";

/** As far back from a member's last view as the rule looks, and a little more. */
const keepMs = 2200;

/** Recent views of the members of one cluster, with their age at the time of reading. */
export function createKnownViews(now: () => number = () => performance.now()) {
  const samples = new Map<string, Sample[]>();
  const refused = new Set<string>();
  return {
    take(sample: Sample): void {
      refused.delete(sample.view.node);
      const before = samples.get(sample.view.node) ?? [];
      // The last one stays, however old: its age is reported with it.
      samples.set(sample.view.node, [sample, ...before.filter(({ at }) => sample.at - at <= keepMs)]);
    },
    all: (): MemberView[] =>
      [...samples.values()].flat().map(({ at, view }) => ({
        ...view,
        ageMs: Math.round(now() - at),
        ...(refused.has(view.node) && { kept: true }),
      })),
    /** The host refuses connections, so no newer view of the member can arrive. */
    refuse: (node: string): void => void refused.add(node),
    /** Drops the views of former members. */
    keep(nodes: readonly string[]): void {
      for (const node of samples.keys()) if (!nodes.includes(node)) samples.delete(node);
    },
  };
}
