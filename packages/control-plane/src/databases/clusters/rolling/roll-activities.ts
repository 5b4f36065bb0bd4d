import {
  findNodes,
  findPhases,
  type NodeRow,
  type Progress,
  progressOf,
  type Share,
  setDesiredSpecs,
} from "#fleet/index.ts";
import { findOperation, type OperationRow } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { findPlan, type Plan } from "#regions/index.ts";
import type { ActivityDeps } from "../../activities.ts";
import { previousOf } from "../../change-database.ts";
import { changeOf } from "../../changes.ts";
import type { Settlement } from "../../settle.ts";
import { areThere, loadDatabase, specsOf, wakeHosts } from "../../desired-specs.ts";
import { reportsOf } from "../health/report-store.ts";
import { type Course, nextStep, type RollingMember } from "./order.ts";
import { hasVersion, versionOf } from "./own-version.ts";
import { courseOf, lastStart, noteStep, rollOf, turnBack } from "./roll.ts";

/** What the workflow does next. `ended`: the operation was settled elsewhere. */
export type Rolled =
  | { next: "wait" }
  | { next: "switch"; phase: string; until: string }
  | { next: "settle"; settlement: Settlement }
  | { next: "ended" };

type Taken = { rolled: Rolled; hosts: number[] };
const rolled = (next: Rolled, hosts: number[] = []): Taken => ({ rolled: next, hosts });

export const createRollActivities = ({ db, clock, zone, archive }: Omit<ActivityDeps, "sealer">) => {
  /** Takes the next step from the members' present state. Repeatable: each step is stored before it is sent. */
  const takeStep = async (tx: Tx, operationId: number): Promise<Taken> => {
    const context = await loadDatabase(tx, operationId, archive);
    // Read again under the row's lock: a settled operation stops here.
    const operation = await findOperation(tx, operationId);
    if (operation.settled_at !== null) return rolled({ next: "ended" });
    const now = clock();
    const course = courseOf(operation, now);
    const target = course.direction === "forward" ? context : await asBefore(tx, context, operation);
    const { database, engine } = target;
    const nodes = await findNodes(tx, database.account_id, database.id);
    if (!areThere(nodes)) return settled(operation, { done: false, why: "a host lost one of its nodes." });
    const [reports, phases] = [await reportsOf(tx, nodes), await findPhases(tx, operationId)];
    const members = nodes.map(
      (node): RollingMember => ({
        ...{ node: node.id, ordinal: node.ordinal, sent: hasVersion(node.desired_spec, versionOf(database, engine)) },
        progress: progressIn(phases, phaseOf(course.direction, node.id), node),
        group: reports.get(node.id) ?? null,
      }),
    );
    const step = nextStep(members, { ...course, canPause: changeOf(operation.kind).pauses === true });
    switch (step.step) {
      case "wait":
        return rolled({ next: "wait" });
      case "switch":
        return rolled({
          next: "switch",
          phase: nextSwitch(phases),
          until: lastStart(operation).toISOString(),
        });
      case "change": {
        const own = nodes.filter(({ id }) => id === step.node);
        const specs = await specsOf(tx, own, { ...target, zone, useRowVersion: true });
        const phase = phaseOf(course.direction, step.node);
        const { hosts } = await setDesiredSpecs(tx, operationId, phase, specs, shareOf(course, phases, nodes.length));
        await noteStep(tx, operation, now);
        return rolled({ next: "wait" }, hosts);
      }
      case "back":
        await turnBack(tx, operation, step.why, now);
        return takeStep(tx, operationId);
      case "end":
        return settled(operation, step);
    }
  };

  return {
    advanceRoll: async (operationId: number): Promise<Rolled> => {
      const taken = await db.transaction().execute((tx) => takeStep(tx, operationId));
      await wakeHosts(db, taken);
      return taken.rolled;
    },
  };
};

/** The first failure is the one that is reported. */
function settled(operation: OperationRow, { done, why }: { done: boolean; why?: string }): Taken {
  const message = rollOf(operation).back ?? why;
  return rolled({ next: "settle", settlement: { done, ...(message === undefined ? {} : { message }) } });
}

async function asBefore<Context extends Awaited<ReturnType<typeof loadDatabase>>>(
  tx: Tx,
  context: Context,
  operation: OperationRow,
): Promise<Context> {
  const database = { ...context.database, ...previousOf(operation) };
  return { ...context, database, plan: (await findPlan(tx, database.plan)) as Plan };
}

const phaseOf = (direction: Course["direction"], node: string): string => `${direction} ${node}`;

type Phases = Awaited<ReturnType<typeof findPhases>>;

/** Each node is an equal part of the progress. The way back does not count. */
const shareOf = ({ direction }: Pick<Course, "direction">, phases: Phases, size: number): Share =>
  direction === "back"
    ? {}
    : { upTo: Math.round((100 * (1 + phases.filter(({ phase }) => phase.startsWith(`${direction} `)).length)) / size) };

function progressIn(phases: Phases, name: string, node: NodeRow): Progress {
  const requested = phases.find(({ phase }) => phase === name);
  return requested === undefined ? { state: "observed" } : progressOf([node], requested.nodes);
}

/** A switchover that did not succeed is tried again in a phase of its own. */
const nextSwitch = (phases: Phases): string =>
  `switch ${phases.filter(({ phase }) => phase.startsWith("switch ")).length + 1}`;
