import { bootstrapModel, type BootstrapRules, shippedBootstrap } from "./bootstrap-model.ts";
import { rollbackModel, type RollbackRules, shippedRollback } from "./rollback-model.ts";
import { search, type Searched } from "./search.ts";

/** A search of all states, and whether it has to find a fault: with a planted defect, or of a known gap. */
type Search = { name: string; findsFault: boolean; run: () => Searched };

const oneSetBack = { changes: 2, setBacks: 1 };
const twoSetBacks = { changes: 2, setBacks: 2 };
/** What the second one hides needs a third change. */
const threeChanges = { changes: 3, setBacks: 2 };

const bootstraps = (name: string, change: Partial<BootstrapRules>, given = {}): Search => ({
  name: `bootstrap: ${name}`,
  findsFault: Object.keys(change).length > 0,
  run: () => search(bootstrapModel({ ...shippedBootstrap, ...change }, given)),
});

/** With two kills there are more than a million states. */
const lateReports = { lateReports: true, kills: 1 };
/** The members take no notice of the order. */
const withoutStayingOut: Partial<BootstrapRules> = {
  decideGroup: ({ node, cluster }, facts) =>
    shippedBootstrap.decideGroup({ node, cluster: cluster && { ...cluster, stay_out: undefined } }, facts),
};

const rollsBack = (name: string, change: Partial<RollbackRules>, left = oneSetBack): Search => ({
  name: `rollback: ${name}`,
  findsFault: Object.keys(change).length > 0,
  run: () => search(rollbackModel({ ...shippedRollback, ...change }, left)),
});

export const searches: readonly Search[] = [
  bootstraps("a group of three", {}),
  bootstraps("a permission is used again", {
    decideGroup: (spec, facts) => shippedBootstrap.decideGroup(spec, { ...facts, used: {} }),
  }),
  bootstraps("two of three members are asked", {
    nextOfBootstrap: (members, counted) => shippedBootstrap.nextOfBootstrap(members.slice(0, 2), counted.slice(0, 2)),
  }),
  bootstraps("a permission is given before all members have confirmed the last withdrawal", { isFollowed: () => true }),
  rollsBack("two changes, PostgreSQL is set back once", {}),
  rollsBack("no host is found to be ahead", { wasSetBack: () => false }),
  rollsBack("the statement is kept after the specs", { keptStatement: (before) => before }),
  rollsBack("recovery prefers its own rows", { isLaterThan: () => false }),
  rollsBack("a change is done without a report", { progressOf: () => ({ state: "observed" }) }),
];

/** Each takes up to half a minute. */
export const longSearches: readonly Search[] = [
  rollsBack("two changes, PostgreSQL is set back twice", {}, twoSetBacks),
  rollsBack("a recovery continues on another server", { mayContinue: () => true }, threeChanges),
  bootstraps("reports of any age decide", {}, lateReports),
  bootstraps("reports of any age decide, and nobody stays out of groups", withoutStayingOut, lateReports),
];
