import { randomUUID } from "node:crypto";
import { areHeard, findNodes, type NodeRow, type UntimedSpec, type Wanted, want } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { moveKeeper } from "../archive/choose-keeper.ts";
import { findKeeper } from "../archive/keeper-store.ts";
import { isCluster } from "../clusters/cluster-spec.ts";
import type { DatabaseRow } from "../database-store.ts";

const SHIP = "ship";
/** Of an operation that goes on when everything is in the archive. */
const SHIP_SHARE = { upTo: 10 };

type Change = (spec: UntimedSpec) => UntimedSpec;

/**
 * Wants all that was committed until now in the archive, beside what is wanted of the database's nodes anyway. The
 * caller holds the database's row, so that nobody wants something else meanwhile. Undefined when it would not come of
 * it: a host is away, or its server does not run.
 */
export async function wantShipped(
  tx: Tx,
  operationId: number,
  database: DatabaseRow,
  now: Date,
  changed?: Change,
): Promise<Wanted | undefined> {
  const moved = isCluster(database) ? await moveKeeper(tx, database, now, 0) : undefined;
  const specs = isCluster(database)
    ? await specsOfMembers(tx, database, now, changed)
    : await specsOfOne(tx, database, now);
  // Whoever keeps it now learns of it with its next poll.
  if (specs === undefined) return undefined;
  const { hosts } = await want(tx, operationId, SHIP, specs.map(changed ?? ((spec) => spec)), SHIP_SHARE);
  return { hosts: [...hosts, ...(moved?.wanted.hosts ?? [])] };
}

async function specsOfOne(tx: Tx, { account_id, id }: DatabaseRow, now: Date): Promise<UntimedSpec[] | undefined> {
  const nodes = await findNodes(tx, account_id, id);
  const specs = nodes.map(specWithShipping).filter((spec) => spec !== undefined);
  if (nodes.length === 0 || specs.length < nodes.length) return undefined;
  return (await areHeard(tx, [...new Set(nodes.map(({ host_id }) => host_id))], now)) ? specs : undefined;
}

/** Its keeper ships, after it has all that its group has; if that one is not well, another takes over at once. */
async function specsOfMembers(
  tx: Tx,
  database: DatabaseRow,
  now: Date,
  changed: Change | undefined,
): Promise<UntimedSpec[] | undefined> {
  const keeper = database.timeline_id === null ? undefined : await findKeeper(tx, database.timeline_id);
  const nodes = await findNodes(tx, database.account_id, database.id);
  const heard: NodeRow[] = [];
  for (const node of nodes) if (await areHeard(tx, [node.host_id], now)) heard.push(node);
  const shipping = heard.find(({ id }) => id === keeper);
  const spec = shipping && specWithShipping(shipping);
  if (spec === undefined) return undefined;
  // The others have nothing to ship; they are told only what changes for all. Who is not heard is not waited for.
  const others = changed === undefined ? [] : heard.filter(({ id, tombstoned }) => id !== keeper && !tombstoned);
  return [spec, ...others.flatMap(({ wanted }) => (wanted === null ? [] : untimed(wanted)))];
}

function specWithShipping({ wanted, tombstoned, observed_state, observed_jobs }: NodeRow): UntimedSpec | undefined {
  if (wanted?.archive === undefined || tombstoned || observed_state !== "running") return undefined;
  const { jobs = [], ...spec } = untimed(wanted);
  const ended = observed_jobs.filter(({ state }) => state !== "working").map((job) => job.id);
  // Somebody may wait for another job: only those that have ended are left out.
  const others = jobs.filter((job) => !ended.includes(job.id));
  return { ...spec, jobs: [...others, { id: randomUUID(), kind: "ship" }] };
}

const untimed = ({ epoch: _epoch, generation: _generation, ...spec }: NonNullable<NodeRow["wanted"]>): UntimedSpec =>
  spec;

/** Nobody gets in any more: nothing is written that would not be in the archive. */
export const withoutGate: Change = ({ gate: _gate, ...spec }) => spec;
