import type { FaultMode } from "@moorage/crash-points";
import { until } from "@moorage/testkit/until.ts";
import { services, waitHealthy } from "../../tools/stack/control.ts";
import { emptyTrash } from "../kit/host.ts";
import { announcedSteps, arm, disarm, fired, traced } from "./crash-dir.ts";
import { clusterFlows, isClusterStep } from "./clusters/cluster-flows.ts";
import { backgroundSteps, type Flow, newFixture, type Fixture } from "./flow.ts";
import { type FlowName, flows } from "./flows.ts";
import { imageFlows, isImageStep, removeImage } from "./image-flows.ts";
import { CYCLE, partOfCommit, positionOf, wayOfCommit } from "./commit-sample.ts";
import type { Counts } from "./ledger.ts";
import { readFlowsOfSteps, writeFlowsOfSteps } from "./flows-of-steps.ts";
import { type Run, trial } from "./trial.ts";

type Point = { flow: FlowName; step: string; mode: FaultMode };

/**
 * Steps of other flows. Each must be tested elsewhere: enrolment, renewal of certificates, the baseline, recovery,
 * jobs.
 */
const OTHER_FLOWS = [
  "fleet.enrol",
  "fleet.renew",
  "fleet.digest",
  "agent.renew.certificate",
  "agent.renew.tls",
  // Only for a server that runs while its agent starts.
  "agent.baseline.bring",
  ...backgroundSteps,
];

/** A repeated accept is a second request, which the interface refuses or accepts by its own rules. */
const modesOf = (step: string, modes: readonly FaultMode[]): FaultMode[] =>
  modes.filter((mode) => !(mode === "repeat" && step.startsWith("api.")));

const namesOf = (some: object): FlowName[] => Object.keys(some) as FlowName[];
/** Flows that are tested together, and the announced steps that belong to them. */
const flowGroups = {
  databases: {
    names: namesOf(flows).filter((name) => !(name in imageFlows) && !(name in clusterFlows)),
    has: (step: string) => !isImageStep(step) && !isClusterStep(step),
  },
  images: { names: namesOf(imageFlows), has: isImageStep },
  clusters: { names: namesOf(clusterFlows), has: isClusterStep },
};

/**
 * Kills (or repeats, or reports as timed out) every step that the flows pass through. The steps come from the code: the
 * processes announce them, and a traced run shows which of them a flow passes.
 */
export async function crashPoints(
  run: Run,
  options: {
    of: keyof typeof flowGroups;
    modes: FaultMode[];
    /** Only steps whose name contains this text. */
    step: string;
    sample?: number;
    seed: number;
    everyPair?: boolean;
  },
): Promise<Counts> {
  const { names, has } = flowGroups[options.of];
  const passed = await (traces[options.of] ??= tracedFlows(names));
  const announced = announcedSteps().filter(has);
  const untested = announced.filter(
    (step) => !OTHER_FLOWS.includes(step) && !names.some((flow) => passed[flow]?.includes(step)),
  );
  await trial(run, `every announced step of ${options.of} is passed by a flow`, async () => {
    if (untested.length > 0) throw new Error(`no flow passes ${untested.join(", ")}`);
    return `${announced.length} steps announced`;
  });

  const all = pointsOf(passed, options.modes).filter(({ step }) => step.includes(options.step));
  const chosen = options.everyPair
    ? all
    : options.sample === undefined
      ? oncePerStep(all, options.seed)
      : sample(all, options.sample, options.seed);
  let firedCount = 0;
  // Steps that only this group passes come first, so that a drill that is stopped early has covered them.
  for (const point of chosen.toSorted((one, other) => Number(has(other.step)) - Number(has(one.step)))) {
    const ok = await trial(run, `${point.flow}: ${point.mode} ${point.step}`, () => strike(point));
    if (ok) firedCount++;
  }
  console.log(
    `crash points of ${options.of} (${options.modes.join(", ")}): named ${all.length}, chosen ${chosen.length}, fired ${firedCount}`,
  );
  return { named: all.length, chosen: chosen.length, fired: firedCount, wrong: chosen.length - firedCount };
}

export const everyMode: FaultMode[] = ["kill-before", "kill-after", "repeat", "timeout"];
const groupNames = Object.keys(flowGroups) as (keyof typeof flowGroups)[];

/**
 * The short form: a tenth of all announced steps, another tenth with each commit. A step gets one fault in one of the
 * flows that are known to pass it; faults and flows rotate.
 */
export async function strikePartOfCommit(run: Run, commit: number): Promise<void> {
  const announced = announcedSteps().filter((step) => !OTHER_FLOWS.includes(step));
  const flowsOf = readFlowsOfSteps();
  const known = announced.filter((step) => flowsOf[step] !== undefined);
  const points = partOfCommit(known, commit).flatMap((step): Point[] => {
    const { names } = flowGroups[groupOf(step)];
    const candidates = names.filter((name) => flowsOf[step]?.includes(name));
    const flow = wayOfCommit(step, candidates, commit);
    const mode = wayOfCommit(step, modesOf(step, everyMode), commit);
    return flow === undefined || mode === undefined ? [] : [{ flow, step, mode }];
  });
  console.log(`Commit ${commit} is number ${positionOf(commit)} of ${CYCLE}, which strike all steps together:`);
  console.table(
    Object.fromEntries(
      groupNames.map((group) => {
        const has = (step: string): boolean => groupOf(step) === group;
        return [group, { steps: known.filter(has).length, now: points.filter(({ step }) => has(step)).length }];
      }),
    ),
  );
  for (const { flow, step, mode } of points) console.log(`  ${mode.padEnd(11)} ${step} in ${flow}`);
  const unknown = announced.filter((step) => flowsOf[step] === undefined);
  if (unknown.length > 0)
    console.log(`In no commit's part, until \`pnpm test:faults --only trace\` finds a flow: ${unknown.join(", ")}`);
  for (const point of points) await trial(run, `${point.flow}: ${point.mode} ${point.step}`, () => strike(point));
}

const groupOf = (step: string): keyof typeof flowGroups =>
  groupNames.find((group) => flowGroups[group].has(step)) ?? "databases";

/** Records which steps the flows with this text in their name pass, for the short form. */
export async function traceFlows(run: Run, text: string): Promise<void> {
  for (const name of namesOf(flows).filter((each) => each.includes(text)))
    await trial(run, `trace of ${name}`, async () => {
      const { [name]: steps = [] } = await tracedFlows([name]);
      writeFlowsOfSteps(name, steps);
      return `${steps.length} steps`;
    });
}

type Passed = Partial<Record<FlowName, string[]>>;
/** All drills of one run use the same steps. */
const traces: Partial<Record<keyof typeof flowGroups, Promise<Passed>>> = {};

async function tracedFlows(names: readonly FlowName[]): Promise<Passed> {
  const passed: Passed = {};
  for (const name of names) {
    disarm();
    const fixture = newFixture();
    await flows[name].prepare(fixture);
    const steps = await traced(() => flows[name].run(fixture));
    passed[name] = steps.filter(flows[name].owns);
    await clear(fixture);
  }
  return passed;
}

const pointsOf = (passed: Passed, modes: readonly FaultMode[]): Point[] =>
  (Object.entries(passed) as [FlowName, string[]][]).flatMap(([flow, steps]) =>
    steps.flatMap((step) => modesOf(step, modes).map((mode) => ({ flow, step, mode }))),
  );

/** The flow must end as requested, and the fault must really have hit the process at its point. */
async function strike({ flow, step, mode }: Point): Promise<string> {
  const fixture = newFixture();
  const { prepare, run }: Flow = flows[flow];
  disarm();
  await prepare(fixture);
  arm({ step, mode });
  await run(fixture);
  const struck = await until(`${mode} ${step} fires`, 30, async () => fired());
  disarm();
  await clear(fixture);
  await allHealthy();
  return `pid ${struck.pid}`;
}

async function clear(fixture: Fixture): Promise<void> {
  const { alice, databases } = fixture;
  if (fixture.image !== undefined) await removeImage(fixture);
  await fixture.afterwards?.();
  for (const id of databases) await alice.deleteSurely(id);
  for (const id of databases) {
    await alice.untilEvent(id, "database_create", 120);
    await alice.untilEvent(id, "database_delete", 120);
  }
  await emptyTrash();
}

async function allHealthy(): Promise<void> {
  for (const { name } of await services()) await waitHealthy(name);
}

/** Many flows pass the same step: each step and mode is tested in one of them, in another one with another seed. */
function oncePerStep(points: readonly Point[], seed: number): Point[] {
  const groups = Map.groupBy(points, ({ step, mode }) => `${mode} ${step}`);
  return [...groups.values()].map((group, n) => group[(n + seed) % group.length] as Point);
}

/** The same seed gives the same points. */
function sample<T>(items: readonly T[], count: number, seed: number): T[] {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return items
    .map((item) => ({ item, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ item }) => item);
}
