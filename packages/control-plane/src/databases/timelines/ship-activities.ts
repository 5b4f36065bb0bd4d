import { randomUUID } from "node:crypto";
import { toTimestamp } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import {
  areReachable,
  findNodes,
  type HostsToWake,
  type NodeRow,
  setDesiredSpecs,
  type UntimedSpec,
} from "#fleet/index.ts";
import { findOperation, type OperationRow } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { moveArchiver } from "../archive/choose-archiver.ts";
import { loadHistory } from "../archive/history-store.ts";
import { NotRestorable, planRestore } from "../archive/recipe.ts";
import { type Engine, inOperation, requested } from "../changes/change.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { isAsynchronous, isCluster } from "../model/database.ts";
import { findTimeline, forkOf, type TimelineRow } from "../model/timeline-store.ts";
import { findArchiver } from "../spec/archiver-store.ts";
import { wakeHosts } from "../spec/desired-specs.ts";
import { texts } from "./texts.ts";

const SHIP = "ship";
/** The share of shipping in the progress of an operation that continues after it. */
const SHIP_SHARE = { upTo: 10 };
/** Larger clock differences raise an alarm. */
const CLOCKS_DIFFER_MS = 2_000;
/**
 * What an asynchronous replica archives ends earlier than it began, by a difference of clocks and by the age of a view.
 * The same time is enough for the end of a member's copy, which is later by a difference of clocks than that of its
 * clone. In both cases the host's clock may be behind ours.
 */
const REPLICA_PASSED_MS = 3 * CLOCKS_DIFFER_MS;

type Change = (spec: UntimedSpec) => UntimedSpec;

/** Archives what a database has before another step. Each is repeatable: it may have run before. */
export const createShipActivities = (engine: Engine) => {
  const { db, clock } = engine;
  const ship = (operationId: number, changed?: Change) =>
    inOperation(engine, operationId, async (tx, { isOpen, database }) =>
      requested(isOpen ? await requestShip(tx, operationId, database, clock(), changed) : undefined),
    );

  return {
    /** Ships the operation's own database: the timeline that it leaves can then be restored up to this moment. */
    shipOwn: (operationId: number) => ship(operationId),

    /**
     * The same for a database that is deleted, with its firewall closed: nothing is written that the archive would
     * lack.
     */
    shipLast: (operationId: number) => ship(operationId, withoutFirewall),

    /**
     * Ships a fork's source. "archived": the point is in the archive already. "not requested": no host can archive
     * more. "too soon": by its host's clock the point, or for a fork of everything the end of the copy that it may have
     * to start from, may be in the future.
     */
    shipSource: async (operationId: number): Promise<"requested" | "not requested" | "archived" | "too soon"> => {
      const outcome = await db.transaction().execute(async (tx) => {
        const operation = await findOperation(tx, operationId);
        const { timeline, until } = await pointOf(tx, operation);
        if (until !== undefined && timeline.archived_through >= until) return "archived";
        const source = await lockDatabase(tx, operation.account_id, timeline.database_id);
        const passedMs = isAsynchronous(source) ? REPLICA_PASSED_MS : CLOCKS_DIFFER_MS;
        if (until !== undefined && clock().getTime() < until.getTime() + passedMs) return "too soon";
        const copyEnd = until === undefined ? await newestCopyEnd(tx, timeline, operation.created_at) : undefined;
        if (copyEnd !== undefined && clock().getTime() < copyEnd.getTime() + REPLICA_PASSED_MS) return "too soon";
        // A timeline that the source has left gets nothing new.
        if (source.deleted_at !== null || source.timeline_id !== timeline.id) return undefined;
        return requestShip(tx, operationId, source, clock());
      });
      if (typeof outcome === "string") return outcome;
      if (outcome === undefined) return "not requested";
      await wakeHosts(db, outcome);
      return "requested";
    },

    /** Why a fork's point cannot be restored, if it cannot. `shipped`: the source did archive everything. */
    whyNotForkable: async (operationId: number, shipped: boolean): Promise<Text | undefined> => {
      const { timeline, until } = await pointOf(db, await findOperation(db, operationId));
      if (until === undefined ? shipped : timeline.archived_through >= until)
        return whyNotRestorable(db, timeline, until ?? timeline.archived_through);
      return texts.forkSourceNotArchived({ archivedThrough: toTimestamp(timeline.archived_through) });
    },
  };
};

/**
 * Requests that everything committed until now be archived, in addition to the present specs. The caller has locked the
 * database's row, so that no other spec is written meanwhile. Undefined when it would not succeed: a host is
 * unreachable, or its server does not run.
 */
async function requestShip(
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

async function specsOfOne(tx: Tx, { account_id, id }: DatabaseRow, now: Date): Promise<UntimedSpec[] | undefined> {
  const nodes = await findNodes(tx, account_id, id);
  const specs = nodes.map(specWithShipping).filter((spec) => spec !== undefined);
  if (nodes.length === 0 || specs.length < nodes.length) return undefined;
  return (await areReachable(tx, [...new Set(nodes.map(({ host_id }) => host_id))], now)) ? specs : undefined;
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

const withoutFirewall: Change = ({ firewall: _firewall, ...spec }) => spec;

async function pointOf(db: Db | Tx, operation: OperationRow) {
  const fork = forkOf(operation);
  if (fork === undefined) throw new Error(`Operation ${operation.id} is no fork.`);
  const until = fork.until === undefined ? undefined : new Date(fork.until);
  return { timeline: await findTimeline(db, fork.timeline), until };
}

/** Of the copies that existed at a time. One that ends long after it was made by a wrong clock: nobody waits for it. */
async function newestCopyEnd(tx: Tx, { id }: TimelineRow, at: Date): Promise<Date | undefined> {
  const newest = await tx
    .selectFrom("copies")
    .select("ended_at")
    .where("timeline_id", "=", id)
    .where("doomed_at", "is", null)
    .where("ended_at", "<=", new Date(at.getTime() + REPLICA_PASSED_MS))
    .orderBy("ended_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return newest?.ended_at;
}

/** Checked before the fork takes a place on a host: what is missing now will not come. */
async function whyNotRestorable(db: Db, { id }: TimelineRow, until: Date): Promise<Text | undefined> {
  try {
    planRestore(await loadHistory(db, id), { timeline: id, until });
    return undefined;
  } catch (error) {
    if (error instanceof NotRestorable) return texts.forkArchiveGap({ why: error.message });
    throw error;
  }
}
