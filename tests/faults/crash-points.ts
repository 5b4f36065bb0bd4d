import type { FaultMode } from "@moorage/crash-points";
import { services, waitHealthy } from "../../tools/stack/control.ts";
import { brokenGates } from "../kit/invariants.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";
import { until } from "../kit/until.ts";
import { announcedSteps, arm, disarm, fired, traced } from "./crash-dir.ts";
import { type Run, trial } from "./trial.ts";

const flows = ["provision", "update", "delete"] as const;
type Flow = (typeof flows)[number];
type Point = { flow: Flow; step: string; mode: FaultMode };

/** Steps of other flows. Each must have a test elsewhere: enrolment, renewal of certificates, and recovery. */
const OTHER_FLOWS = ["fleet.enrol", "fleet.renew", "fleet.digest", "agent.renew.certificate", "agent.renew.tls"];

/** A repeated accept is a second request, which the interface refuses or accepts by its own rules. */
const isAccept = (step: string): boolean => step.startsWith("api.");

/**
 * Kills (or repeats, or lies about) every step that provision, update and delete pass through. The steps come from the code:
 * the processes announce what they have, and a traced run shows which of them a flow passes.
 */
export async function crashPoints(
  run: Run,
  options: { modes: FaultMode[]; sample?: number; seed: number },
): Promise<void> {
  const alice = tenant();
  const passed = await tracedFlows(alice);
  const announced = announcedSteps();
  const untested = announced.filter(
    (step) => !OTHER_FLOWS.includes(step) && !flows.some((flow) => passed[flow].includes(step)),
  );
  await trial(run, "every announced step is passed by a flow", async () => {
    if (untested.length > 0) throw new Error(`no flow passes ${untested.join(", ")}`);
    return `${announced.length} steps announced`;
  });

  const all = pointsOf(passed, options.modes);
  const chosen = options.sample === undefined ? all : sample(all, options.sample, options.seed);
  let firedCount = 0;
  for (const point of chosen) {
    const ok = await trial(run, `${point.flow}: ${point.mode} ${point.step}`, () => strike(alice, point));
    if (ok) firedCount++;
  }
  console.log(
    `crash points (${options.modes.join(", ")}): named ${all.length}, chosen ${chosen.length}, fired ${firedCount}`,
  );
}

async function tracedFlows(alice: Tenant): Promise<Record<Flow, string[]>> {
  disarm();
  const label = `trace-${Date.now()}`;
  const provision = await traced(async () => {
    const { id } = await alice.createSurely(label);
    await alice.untilStatus(id, "active", 120);
    await alice.untilEvent(id, "database_create");
  });
  const found = (await alice.list()).find((database) => database.label === label);
  if (found === undefined) throw new Error(`${label} is gone`);
  const update = await traced(async () => {
    await alice.updateSurely(found.id, changedList);
    await alice.untilEvent(found.id, "database_update", 120);
  });
  const deletion = await traced(async () => {
    await alice.deleteSurely(found.id);
    await alice.untilEvent(found.id, "database_delete", 120);
  });
  // The verification of other nodes passes through provision's steps at any time; the others own only their own.
  const own = (step: string): boolean => !step.startsWith("agent.provision.");
  return { provision, update: update.filter(own), delete: deletion.filter(own) };
}

const pointsOf = (passed: Record<Flow, string[]>, modes: readonly FaultMode[]): Point[] =>
  flows.flatMap((flow) =>
    passed[flow].flatMap((step) =>
      modes.filter((mode) => !(mode === "repeat" && isAccept(step))).map((mode) => ({ flow, step, mode })),
    ),
  );

const changedList = ["192.0.2.7", "2001:db8::7"];

/** The database must end as asked, and the process must really have been struck at its point. */
async function strike(alice: Tenant, { flow, step, mode }: Point): Promise<string> {
  const label = `fault-${Date.now()}`;
  disarm();
  if (flow !== "provision") await alice.untilStatus((await alice.createSurely(label)).id, "active", 120);
  arm({ step, mode });
  const { id } = await alice.createSurely(label);
  if (flow === "provision") await alice.untilStatus(id, "active", 120);
  if (flow === "update") await inForce(alice, id);
  if (flow === "delete") await alice.deleteSurely(id);
  const struck = await until(`${mode} ${step} fires`, 30, async () => fired());
  if (flow !== "delete") await alice.deleteSurely(id);
  await alice.untilEvent(id, "database_create", 120);
  await alice.untilEvent(id, "database_delete", 120);
  disarm();
  await allHealthy();
  return `pid ${struck.pid}`;
}

/** Told so by exactly one event, and true in the kernel. */
async function inForce(alice: Tenant, id: number): Promise<void> {
  await alice.updateSurely(id, changedList);
  await alice.untilStatus(id, "active", 120);
  await alice.untilEvent(id, "database_update", 120);
  const events = (await alice.events(id)).filter(({ action }) => action === "database_update");
  if (events.length !== 1) throw new Error(`one update has ${events.length} events`);
  const broken = await brokenGates();
  if (broken.length > 0) throw new Error(broken.join("; "));
}

async function allHealthy(): Promise<void> {
  for (const { name } of await services()) await waitHealthy(name, 60);
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
