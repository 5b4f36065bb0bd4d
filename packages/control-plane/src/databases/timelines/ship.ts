import { randomUUID } from "node:crypto";
import { areHeard, findNodes, type NodeRow, type UntimedSpec, type Wanted, want } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";

const SHIP = "ship";

/**
 * Wants all that was committed until now in the archive, beside what is wanted of the database's nodes anyway. The
 * caller holds the database's row, so that nobody wants something else meanwhile. Undefined when it would not come of
 * it: a host is away, or its server does not run.
 */
export async function wantShipped(
  tx: Tx,
  operationId: number,
  { account_id, id }: Pick<DatabaseRow, "account_id" | "id">,
  now: Date,
  changed: (spec: UntimedSpec) => UntimedSpec = (spec) => spec,
): Promise<Wanted | undefined> {
  const nodes = await findNodes(tx, account_id, id);
  const specs = nodes.map(specWithShipping).filter((spec) => spec !== undefined);
  if (nodes.length === 0 || specs.length < nodes.length) return undefined;
  if (!(await areHeard(tx, [...new Set(nodes.map(({ host_id }) => host_id))], now))) return undefined;
  return want(tx, operationId, SHIP, specs.map(changed));
}

function specWithShipping({ wanted, tombstoned, observed_state, observed_jobs }: NodeRow): UntimedSpec | undefined {
  if (wanted?.archive === undefined || tombstoned || observed_state !== "running") return undefined;
  const { epoch: _epoch, generation: _generation, jobs = [], ...spec } = wanted;
  const ended = observed_jobs.filter(({ state }) => state !== "working").map((job) => job.id);
  // Somebody may wait for another job: only those that have ended are left out.
  const others = jobs.filter((job) => !ended.includes(job.id));
  return { ...spec, jobs: [...others, { id: randomUUID(), kind: "ship" }] };
}

/** Nobody gets in any more: nothing is written that would not be in the archive. */
export const withoutGate = ({ gate: _gate, ...spec }: UntimedSpec): UntimedSpec => spec;
