import type { NodeState } from "@moorage/contract/agent";
import type { Db } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import type { NodeRow } from "./node-store.ts";
import { texts } from "./texts.ts";

/**
 * Matches paths, quoted commands and the like: everything but letters, digits, punctuation and characters of table
 * names.
 */
const OTHER_MARKS = /[^\p{L}\p{N} ,.;:'`()%_-]/u;
/** Addresses, digests, internal ids, file names. */
const INTERNAL =
  /\b(?:\d{1,3}\.){3}\d{1,3}\b|[0-9a-f]{12,}|[0-9a-f]{8}-[0-9a-f]{4}|\.(?:img|sock|json|pem|key|cnf|tmp|sql)\b/i;

export type Progress = { state: "pending" } | { state: "observed" } | { state: "failed"; message: string };

export type ObservedNode = Pick<
  NodeRow,
  | "id"
  | "tombstoned"
  | "desired_spec"
  | "observed_epoch"
  | "observed_generation"
  | "observed_state"
  | "observed_message"
  | "observed_tasks"
>;

export const createFleetActivities = ({ db }: { db: Db }) => ({
  checkPhaseOf: (operationId: number, phase: string): Promise<Progress> => checkPhase(db, operationId, phase),
});
export type FleetActivities = ReturnType<typeof createFleetActivities>;

/** Progress of a phase's nodes, from the latest reports of their hosts. */
export async function checkPhase(db: Db, operationId: number, phase: string): Promise<Progress> {
  const row = await db
    .selectFrom("desired_phases")
    .select("nodes")
    .where("operation_id", "=", operationId)
    .where("phase", "=", phase)
    .executeTakeFirstOrThrow();
  const ids = row.nodes.map(({ node }) => node);
  const nodes = ids.length === 0 ? [] : await db.selectFrom("nodes").selectAll().where("id", "in", ids).execute();
  return progressOf(nodes, row.nodes);
}

/** A later generation counts too: the present desired state includes the earlier one. */
export function progressOf(nodes: readonly ObservedNode[], desired: readonly DesiredNode[]): Progress {
  const reached = nodes.filter((node) => {
    const target = desired.find(({ node: id }) => id === node.id);
    return (
      target !== undefined &&
      (node.observed_epoch > target.epoch ||
        (node.observed_epoch === target.epoch && node.observed_generation >= target.generation))
    );
  });
  const failed = reached.find(({ observed_state }) => observed_state === "failed" || observed_state === "unsupported");
  if (failed !== undefined) return { state: "failed", message: forTenants(failed.observed_message) };
  const done = reached.filter((node) => node.observed_state === desiredStateOf(node));
  if (done.length < desired.length) return { state: "pending" };
  return progressOfTasks(nodes, desired);
}

const desiredStateOf = ({ tombstoned, desired_spec }: ObservedNode): NodeState =>
  tombstoned ? "gone" : desired_spec?.power === "off" ? "stopped" : "running";

function progressOfTasks(nodes: readonly ObservedNode[], desired: readonly DesiredNode[]): Progress {
  const taskIds = desired.flatMap(({ tasks }) => tasks ?? []);
  const reports = nodes.flatMap(({ observed_tasks }) => observed_tasks).filter(({ id }) => taskIds.includes(id));
  const failed = reports.find(({ state }) => state === "failed");
  if (failed !== undefined) return { state: "failed", message: forTenants(failed.message) };
  return taskIds.every((id) => reports.some((task) => task.id === id && task.state === "done"))
    ? { state: "observed" }
    : { state: "pending" };
}

/**
 * A host's error message in a form that a tenant may read: without the step name, and only if it is a plain sentence.
 * The original message stays with the node, for the operator.
 */
export function forTenants(message: string | null | undefined): string {
  const sentence = (message ?? "").replace(/^[a-z][a-z-]*: (?=\S)/, "");
  const isPlain = sentence !== "" && !OTHER_MARKS.test(sentence) && !INTERNAL.test(sentence);
  return isPlain ? sentence : texts.errorHidden().text;
}
