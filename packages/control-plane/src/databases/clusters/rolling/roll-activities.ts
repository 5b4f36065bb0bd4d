import type { Text } from "@moorage/contract/texts";
import {
  findNodes,
  findPhases,
  type NodeRow,
  type Progress,
  progressOf,
  setDesiredSpecs,
  type Share,
} from "#fleet/index.ts";
import { findOperation, type OperationRow } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { findPlan, type Plan } from "#regions/index.ts";
import { type ChangeContext, type Engine, inOperation, type Settlement, type Taken } from "../../changes/change.ts";
import { inputOf } from "../../changes/column-changes.ts";
import { areThere, specsOf } from "../../spec/desired-specs.ts";
import { hasVersion, versionOf } from "../../spec/own-version.ts";
import { reportsOf } from "../../spec/primary-store.ts";
import { texts } from "../texts.ts";
import { type Course, courseOf, lastStart, nextStep, noteStep, type RollingMember, rollOf, turnBack } from "./roll.ts";

/** What the workflow does next. `ended`: the operation was settled elsewhere. */
export type Rolled =
  | { next: "wait" }
  | { next: "switch"; phase: string; until: string }
  | { next: "bootstrap"; until: string }
  | { next: "settle"; settlement: Settlement }
  | { next: "ended" };

const rolled = (answer: Rolled, hosts: readonly number[] = []): Taken<Rolled> => ({ answer, hosts });

/** Whether a change of this kind may stop half-way and continue in the next maintenance window. */
type RollDeps = Engine & { canPause: (kind: string) => boolean };

export const createRollActivities = (engine: RollDeps) => {
  /** Takes the next step from the members' present state. Repeatable: each step is stored before it is sent. */
  const takeStep = async (tx: Tx, context: ChangeContext): Promise<Taken<Rolled>> => {
    const { operation } = context;
    if (!context.isOpen) return rolled({ next: "ended" });
    const now = engine.clock();
    const course = courseOf(operation, now);
    const target = course.direction === "forward" ? context : await asBefore(tx, context, operation);
    const { database, engine: version } = target;
    const nodes = await findNodes(tx, database.account_id, database.id);
    if (!areThere(nodes)) return settled(operation, { done: false, why: texts.rollNodeLost() });
    const [reports, phases] = [await reportsOf(tx, nodes), await findPhases(tx, operation.id)];
    const members = nodes.map(
      (node): RollingMember => ({
        node: node.id,
        ordinal: node.ordinal,
        sent: hasVersion(node.desired_spec, versionOf(database, version)),
        progress: progressIn(phases, phaseOf(course.direction, node.id), node),
        group: reports.get(node.id) ?? null,
      }),
    );
    const step = nextStep(members, { ...course, canPause: engine.canPause(operation.kind) });
    switch (step.step) {
      case "wait":
        return rolled({ next: "wait" });
      case "bootstrap":
        return rolled({ next: "bootstrap", until: lastStart(operation).toISOString() });
      case "switch":
        return rolled({
          next: "switch",
          phase: nextSwitch(phases),
          until: lastStart(operation).toISOString(),
        });
      case "change": {
        const own = nodes.filter(({ id }) => id === step.node);
        const specs = await specsOf(tx, own, { ...target, useRowVersion: true });
        const phase = phaseOf(course.direction, step.node);
        const { hosts } = await setDesiredSpecs(tx, operation.id, phase, specs, shareOf(course, phases, nodes.length));
        await noteStep(tx, operation, now);
        return rolled({ next: "wait" }, hosts);
      }
      case "back":
        await turnBack(tx, operation, step.why, now);
        return takeStep(tx, { ...context, operation: await findOperation(tx, operation.id) });
      case "end":
        return settled(operation, step);
    }
  };

  return {
    advanceRoll: (operationId: number): Promise<Rolled> => inOperation(engine, operationId, takeStep),
  };
};
export type RollActivities = ReturnType<typeof createRollActivities>;

/** The first failure is the one that is reported. */
function settled(operation: OperationRow, { done, why }: { done: boolean; why?: Text }): Taken<Rolled> {
  const message = rollOf(operation).back ?? why;
  return rolled({ next: "settle", settlement: { done, ...(message === undefined ? {} : { message }) } });
}

async function asBefore(tx: Tx, context: ChangeContext, operation: OperationRow): Promise<ChangeContext> {
  const database = { ...context.database, ...inputOf(operation).previous };
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
