import { toTimestamp } from "@moorage/contract";
import type { UntimedSpec } from "#fleet/index.ts";
import { findOperation, type OperationRow } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import { type Engine, inOperation, requested } from "../changes/in-operation.ts";
import { loadHistory } from "../archive/history-store.ts";
import { NotRestorable, planRestore } from "../archive/recipe.ts";
import { lockDatabase } from "../database-store.ts";
import { findTimeline, type TimelineRow } from "../timeline-store.ts";
import { wakeHosts } from "../desired-specs.ts";
import { forkOf } from "./fork-input.ts";
import { requestShip, withoutFirewall } from "./ship.ts";
import { texts } from "./texts.ts";

/** Larger clock differences raise an alarm. */
const CLOCKS_DIFFER_MS = 2_000;

/** Archives what a database has before another step. Each is repeatable: it may have run before. */
export const createShipActivities = (engine: Engine) => {
  const { db, clock } = engine;
  const ship = (operationId: number, changed?: (spec: UntimedSpec) => UntimedSpec) =>
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
     * more. "too soon": by its host's clock the point may be in the future.
     */
    shipSource: async (operationId: number): Promise<"requested" | "not requested" | "archived" | "too soon"> => {
      const outcome = await db.transaction().execute(async (tx) => {
        const operation = await findOperation(tx, operationId);
        const { timeline, until } = await pointOf(tx, operation);
        if (until !== undefined && timeline.archived_through >= until) return "archived";
        if (until !== undefined && clock().getTime() < until.getTime() + CLOCKS_DIFFER_MS) return "too soon";
        const source = await lockDatabase(tx, operation.account_id, timeline.database_id);
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
export type ShipActivities = ReturnType<typeof createShipActivities>;

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

async function pointOf(db: Db | Tx, operation: OperationRow) {
  const fork = forkOf(operation);
  if (fork === undefined) throw new Error(`Operation ${operation.id} is no fork.`);
  const until = fork.until === undefined ? undefined : new Date(fork.until);
  return { timeline: await findTimeline(db, fork.timeline), until };
}
