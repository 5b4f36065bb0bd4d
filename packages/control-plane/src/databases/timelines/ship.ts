import { randomUUID } from "node:crypto";
import {
  areReachable,
  findNodes,
  type NodeRow,
  type UntimedSpec,
  type HostsToWake,
  setDesiredSpecs,
} from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { moveArchiver } from "../archive/choose-archiver.ts";
import { findArchiver } from "../archive/archiver-store.ts";
import { isCluster } from "../clusters/cluster-spec.ts";
import type { DatabaseRow } from "../database-store.ts";

const SHIP = "ship";
/** The share of shipping in the progress of an operation that continues after it. */
const SHIP_SHARE = { upTo: 10 };

type Change = (spec: UntimedSpec) => UntimedSpec;

/**
 * Requests that everything committed until now be archived, in addition to the present specs. The caller has locked the
 * database's row, so that no other spec is written meanwhile. Undefined when it would not succeed: a host is
 * unreachable, or its server does not run.
 */
export async function requestShip(
  tx: Tx,
  operationId: number,
  database: DatabaseRow,
  now: Date,
  changed?: Change,
): Promise<HostsToWake | undefined> {
  const moved = isCluster(database) ? await moveArchiver(tx, database, now, 0) : undefined;
  const specs = isCluster(database)
    ? await specsOfMembers(tx, database, now, changed)
    : await specsOfOne(tx, database, now);
  // The archiver gets the task with its next poll.
  if (specs === undefined) return undefined;
  const { hosts } = await setDesiredSpecs(tx, operationId, SHIP, specs.map(changed ?? ((spec) => spec)), SHIP_SHARE);
  return { hosts: [...hosts, ...(moved?.toWake.hosts ?? [])] };
}

async function specsOfOne(tx: Tx, { account_id, id }: DatabaseRow, now: Date): Promise<UntimedSpec[] | undefined> {
  const nodes = await findNodes(tx, account_id, id);
  const specs = nodes.map(specWithShipping).filter((spec) => spec !== undefined);
  if (nodes.length === 0 || specs.length < nodes.length) return undefined;
  return (await areReachable(tx, [...new Set(nodes.map(({ host_id }) => host_id))], now)) ? specs : undefined;
}

/** The archiver ships, once it has everything that its group has; if it is unhealthy, another takes over at once. */
async function specsOfMembers(
  tx: Tx,
  database: DatabaseRow,
  now: Date,
  changed: Change | undefined,
): Promise<UntimedSpec[] | undefined> {
  const archiver = database.timeline_id === null ? undefined : await findArchiver(tx, database.timeline_id);
  const nodes = await findNodes(tx, database.account_id, database.id);
  const reachable: NodeRow[] = [];
  for (const node of nodes) if (await areReachable(tx, [node.host_id], now)) reachable.push(node);
  const shipping = reachable.find(({ id }) => id === archiver);
  const spec = shipping && specWithShipping(shipping);
  if (spec === undefined) return undefined;
  // The others have nothing to ship; they only get a change that applies to all. Unreachable ones are not waited for.
  const others = changed === undefined ? [] : reachable.filter(({ id, tombstoned }) => id !== archiver && !tombstoned);
  return [spec, ...others.flatMap(({ desired_spec }) => (desired_spec === null ? [] : untimed(desired_spec)))];
}

function specWithShipping({
  desired_spec,
  tombstoned,
  observed_state,
  observed_tasks,
}: NodeRow): UntimedSpec | undefined {
  if (desired_spec?.archive === undefined || tombstoned || observed_state !== "running") return undefined;
  const { tasks = [], ...spec } = untimed(desired_spec);
  const ended = observed_tasks.filter(({ state }) => state !== "working").map((task) => task.id);
  // Somebody may wait for another task: only ended ones are removed.
  const others = tasks.filter((task) => !ended.includes(task.id));
  return { ...spec, tasks: [...others, { id: randomUUID(), kind: "ship" }] };
}

const untimed = ({
  epoch: _epoch,
  generation: _generation,
  ...spec
}: NonNullable<NodeRow["desired_spec"]>): UntimedSpec => spec;

/** Closes the firewall: nothing is written that the archive would lack. */
export const withoutFirewall: Change = ({ firewall: _firewall, ...spec }) => spec;
