/**
 * Simulates asynchronous clusters and groups with the shipped decisions, on a virtual clock.
 *   pnpm test:sim               300 seeds of asynchronous clusters, 100 of groups, and the directed faults
 *   pnpm test:sim --groups      groups only, also with --seed, --seeds and --plants
 *   pnpm test:sim --seeds N     the first N; --from N begins there
 *   pnpm test:sim --plants      whether each planted defect is found; --only TEXT: those whose name contains it
 *   pnpm test:sim --ci          all of these seeds, the planted defects and the searches
 *   pnpm test:sim --search      visits all states of two protocols, also with planted defects; --long: more of them
 *   pnpm test:sim --seed N      one, with its trace and the trace's hash
 * After random faults everything heals, and a primary with three members must replicate within 60 simulated seconds.
 */
import { parseArgs } from "node:util";
import { directed, faultOf } from "./directed.ts";
import { groupPlants } from "./groups/plants.ts";
import { type GroupRules, shippedGroupRules } from "./groups/rules.ts";
import { simulateGroup } from "./groups/simulate.ts";
import { longSearches, searches } from "./search/searches.ts";
import { type Plant, plants } from "./plants.ts";
import { type Rules, shippedRules } from "./rules.ts";
import { type Outcome, simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    groups: { type: "boolean", default: false },
    plants: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    ci: { type: "boolean", default: false },
    search: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
  },
});
const directedSeed = 7;

/** What must happen in some of the runs: otherwise they show nothing about it. */
const sometimes = [
  "a promotion over a fence",
  "a promotion over consent",
  "an interrupted switchover",
  "a member is re-cloned",
  "a gatekeeper away during a promotion",
  "two primaries lost within 5 s",
];
const sometimesOfGroups = [
  "the group elects a primary",
  "a group is bootstrapped",
  "a switchover",
  "two members that do not reach each other are expelled",
];
/** Fewer seeds need not meet all of them. */
const seedsForSometimes = 300;
const seedsOfGroups = 100;

type Found = { by: string; fault: string };

/** What is simulated, by which decisions. */
type Kind<Decisions> = {
  shipped: Decisions;
  simulate: (seed: number, rules: Partial<Decisions>) => Outcome;
  direct?: (rules: Partial<Decisions>) => Found | undefined;
};
const asynchronous: Kind<Rules> = {
  shipped: shippedRules,
  simulate: (seed, rules) => simulate(seed, { rules }),
  direct: findByDirected,
};
const groups: Kind<GroupRules> = { shipped: shippedGroupRules, simulate: simulateGroup };

const tally = { passed: 0, failed: 0 };
const note = (name: string, fault: string | undefined): void => {
  tally[fault === undefined ? "passed" : "failed"] += 1;
  if (fault !== undefined) console.log(`FAILED ${name}: ${fault}`);
};

const [firstSeed, seedCount] = [Number(values.from), Number(values.seeds ?? seedsForSometimes)];
const countOfGroups = Number(values.seeds ?? seedsOfGroups);
const isChosen = ({ name }: { name: string }): boolean => name.includes(values.only);
if (values.seed !== undefined) runOne(Number(values.seed));
else if (values.search) runSearches(values.long ? [...searches, ...longSearches] : searches);
else if (values.plants) {
  if (!values.groups) runPlants(asynchronous, plants.filter(isChosen), firstSeed, seedCount);
  runPlants(groups, groupPlants.filter(isChosen), firstSeed, countOfGroups);
} else {
  if (!values.groups) {
    runDirected();
    runSeeds(simulate, sometimes, firstSeed, { count: seedCount, least: seedsForSometimes });
  }
  runSeeds(simulateGroup, sometimesOfGroups, firstSeed, { count: countOfGroups, least: seedsOfGroups });
  if (values.ci) {
    runPlants(asynchronous, plants, 1, seedsForSometimes);
    runPlants(groups, groupPlants, 1, seedsOfGroups);
    runSearches(searches);
  }
}
console.log(`\nsim: ${tally.passed} passed, ${tally.failed} failed`);
process.exitCode = tally.failed === 0 ? 0 : 1;

function runOne(seed: number): void {
  const outcome = values.groups ? simulateGroup(seed) : simulate(seed);
  console.log(outcome.trace.join("\n"));
  console.log(`${outcome.acknowledged} writes acknowledged, ${outcome.lost} lost; trace ${outcome.hash}`);
  note(`seed ${seed}`, outcome.violations[0]);
}

function runDirected(): void {
  for (const each of directed) {
    const outcome = simulate(directedSeed, { script: each.script, ms: each.ms });
    note(`${each.name} (${outcome.lost} of ${outcome.acknowledged} lost)`, faultOf(each, outcome));
  }
}

function runPlants<Decisions>(
  kind: Kind<Decisions>,
  chosen: readonly Plant<Decisions>[],
  from: number,
  count: number,
): void {
  for (const { name, plant, seed } of chosen) {
    const found = findFault(kind, plant(kind.shipped), seed, { from, count });
    console.log(`${(found?.by ?? "NOT FOUND").padEnd(12)} ${name}${found === undefined ? "" : `: ${found.fault}`}`);
    note(name, found === undefined ? `not found in ${count} seeds` : undefined);
  }
}

function runSearches(chosen: typeof searches): void {
  for (const { name, findsFault, run } of chosen) {
    const { states, fault } = run();
    console.log(`${String(states).padStart(8)} states ${name}${fault === undefined ? "" : `: ${fault.what}`}`);
    if (findsFault) note(name, fault === undefined ? "no fault was found" : undefined);
    else note(name, fault && `${fault.what} after: ${fault.steps.join("; ")}`);
  }
}

/** `first`: the seed that found it before. */
function findFault<Decisions>(
  { simulate: run, direct }: Kind<Decisions>,
  rules: Partial<Decisions>,
  first: number | undefined,
  { from, count }: { from: number; count: number },
): Found | undefined {
  const faultOfSeed = (seed: number): Found | undefined => firstOf(run(seed, rules));
  const known = (first === undefined ? undefined : faultOfSeed(first)) ?? direct?.(rules);
  if (known !== undefined) return known;
  for (let seed = from; seed < from + count; seed++) {
    const found = faultOfSeed(seed);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findByDirected(rules: Partial<Rules>): Found | undefined {
  for (const each of directed) {
    const fault = faultOf(each, simulate(directedSeed, { script: each.script, ms: each.ms, rules }));
    if (fault !== undefined) return { by: `directed ${each.name.slice(0, 1)}`, fault };
  }
  return undefined;
}

function firstOf({ seed, violations: [fault] }: Outcome): Found | undefined {
  return fault === undefined ? undefined : { by: `seed ${seed}`, fault };
}

function runSeeds(
  run: (seed: number) => Outcome,
  mustHappen: readonly string[],
  from: number,
  { count, least }: { count: number; least: number },
): void {
  const happened = new Map<string, number>();
  const sums = { acknowledged: 0, lost: 0 };
  for (let seed = from; seed < from + count; seed++) {
    const outcome = run(seed);
    add(sums, outcome);
    for (const [what, times] of outcome.happened) happened.set(what, (happened.get(what) ?? 0) + times);
    note(`seed ${seed}`, outcome.violations[0]);
  }
  console.log(`${sums.acknowledged} writes acknowledged; ${sums.lost} lost, each of them reported`);
  for (const [what, times] of happened) console.log(`${String(times).padStart(6)} times ${what}`);
  if (count >= least)
    for (const what of mustHappen) note(`sometimes: ${what}`, happened.has(what) ? undefined : "it never happened");
}

function add(sums: { acknowledged: number; lost: number }, outcome: Outcome): void {
  sums.acknowledged += outcome.acknowledged;
  sums.lost += outcome.lost;
}
