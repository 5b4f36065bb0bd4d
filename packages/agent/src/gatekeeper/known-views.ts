import type { Sample } from "./sample-member.ts";
import type { MemberView } from "./views.ts";

/** As far as the rule looks back from the last that was seen of a member, and a little. */
const keepMs = 2200;

/** What was seen of the members of one cluster, with the age that it has when it is asked for. */
export function createKnownViews(now: () => number = () => performance.now()) {
  const samples = new Map<string, Sample[]>();
  const refused = new Set<string>();
  return {
    take(sample: Sample): void {
      refused.delete(sample.view.node);
      const before = samples.get(sample.view.node) ?? [];
      // The last one stays, however old: who asks is told its age.
      samples.set(sample.view.node, [sample, ...before.filter(({ at }) => sample.at - at <= keepMs)]);
    },
    all: (): MemberView[] =>
      [...samples.values()].flat().map(({ at, view }) => ({
        ...view,
        ageMs: Math.round(now() - at),
        ...(refused.has(view.node) && { kept: true }),
      })),
    /** Nobody is there to say something else. */
    refuse: (node: string): void => void refused.add(node),
    /** Of those that are no members any more nothing is known. */
    keep(nodes: readonly string[]): void {
      for (const node of samples.keys()) if (!nodes.includes(node)) samples.delete(node);
    },
  };
}
export type KnownViews = ReturnType<typeof createKnownViews>;
