import { toTimestamp } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { clearDesiredSpec, type HostsToWake } from "#fleet/index.ts";
import { resolve } from "#notifications/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Change, ChangeContext, Settlement } from "../changes/change.ts";
import { saveDatabase } from "../model/database-store.ts";
import { statusAfter, statusByPower } from "../model/database.ts";
import { entityOf } from "../model/entity.ts";
import { endTimeline, findTimeline, liveOn } from "../model/timeline-store.ts";
import { meterDatabase } from "../model/usage.ts";
import { setDesiredFromRow } from "../spec/desired-specs.ts";
import { findPrimary } from "../spec/primary-store.ts";
import { removeElsewhere } from "./restore-elsewhere.ts";
import { restoreInput } from "./restore-input.ts";
import {
  archiveContextOn,
  makePrimary,
  nodesOf,
  nodesOfPhase,
  PREVIOUS,
  RECLONED,
  RESTORED,
  setDesiredTimeline,
} from "./restore-phases.ts";
import { texts } from "./texts.ts";

/** The cause of the notification that the host of a database of one node is away or lost. */
export const HOST_CAUSE = "host";

/** A restore of a database to a backup or a time, in place or, if its only host is dead, on another one. */
export const restore: Change = {
  kind: "restoreDatabase",
  audited: "restore_database",
  events: ["database_backup_restore"],
  /** Succeeds only if most of the requested hosts report the new timeline: one of three may have been away. */
  async judge(tx, context, proposed) {
    const { timeline } = restoreInput(context.operation);
    const requestedNodes =
      (await nodesOfPhase(tx, context, RECLONED)) ?? (await nodesOfPhase(tx, context, RESTORED)) ?? [];
    const on = (await nodesOf(tx, context)).filter(({ observed_timeline }) => observed_timeline === timeline);
    const confirmed = requestedNodes.filter(({ node }) => on.some(({ id }) => id === node));
    const done = proposed.done && 2 * confirmed.length > requestedNodes.length;
    const message = done ? await textOfSuccess(tx, context) : textOfFailure(context, proposed);
    return { ...proposed, done, message };
  },
  /** On failure the previous timeline is requested again: its data are kept until this is settled. */
  async end(tx, context, { done, dnsPublished = false }, at) {
    const { timeline, before, elsewhere } = restoreInput(context.operation);
    const { account_id, id, status, powered } = context.database;
    const settled = await saveDatabase(tx, account_id, id, {
      status: statusByPower(statusAfter("restore", status, { done, before }), powered),
      ...(done ? { timeline_id: timeline } : {}),
      // Its records name the dead host until they are published again, by a job if not by the workflow.
      ...(done && elsewhere !== undefined ? { dns_published_at: dnsPublished ? at : null } : {}),
      updated_at: at,
    });
    const next = await (done ? stay(tx, context, at) : leave(tx, context, at));
    if (done && elsewhere !== undefined)
      await resolve(tx, { accountId: account_id, entity: entityOf(settled), cause: HOST_CAUSE });
    // The database may run for the first time, if it could not be provisioned before.
    if (done) await meterDatabase(tx, settled, at);
    return next;
  },
};

/**
 * Gives up the way back: the volume of the previous timeline goes to its host's trash, which nobody waits for. A member
 * whose host was away now gets the new timeline, and clones its data from the others when it is back.
 */
async function stay(tx: Tx, context: ChangeContext, at: Date): Promise<HostsToWake> {
  const { timeline, previous } = restoreInput(context.operation);
  await endTimeline(tx, previous, at);
  await liveOn(tx, timeline, at);
  const archiveContext = await archiveContextOn(tx, context, timeline);
  return setDesiredTimeline(tx, "without a way back", { ...context, archiveContext }, await nodesOf(tx, context));
}

async function leave(tx: Tx, context: ChangeContext, at: Date): Promise<HostsToWake | undefined> {
  await endTimeline(tx, restoreInput(context.operation).timeline, "unused");
  return goBack(tx, context, at);
}

export async function goBack(tx: Tx, context: ChangeContext, at: Date): Promise<HostsToWake | undefined> {
  const { operation, database } = context;
  const { lost, primary, sole = false, elsewhere } = restoreInput(operation);
  if (elsewhere !== undefined) return removeElsewhere(tx, context, at);
  // The primary of the new timeline lacks what others may have of the previous one.
  const reason = sole ? "sole_survivor" : "fenced";
  const [maker] = (await nodesOfPhase(tx, context, RESTORED)) ?? [];
  const current = await findPrimary(tx, database);
  // One that was promoted since the restore began has what was written since.
  const isPromoted = maker !== undefined && current !== undefined && current.node !== maker.node;
  if (primary !== undefined && !isPromoted)
    await makePrimary(tx, database, { node: primary, reason }, at, { alone: true });
  // The host has no earlier data: ordered to run them, it would make an empty database.
  if (!lost) return setDesiredFromRow(tx, operation.id, PREVIOUS, context);
  for (const node of await nodesOf(tx, context)) await clearDesiredSpec(tx, node);
  return undefined;
}

async function textOfSuccess(tx: Tx, { operation }: ChangeContext): Promise<Text> {
  const { backup, timeline, elsewhere, gtid = null } = restoreInput(operation);
  const { parent_until } = await findTimeline(tx, timeline);
  if (elsewhere?.automatic === true && parent_until !== null)
    return texts.restoredElsewhere({
      until: toExactTime(parent_until),
      gtid,
      seen: elsewhere.seen_at === null ? null : toExactTime(new Date(elsewhere.seen_at)),
    });
  return texts.restored({ backup, asOf: parent_until === null ? null : toTimestamp(parent_until) });
}

/** With milliseconds: what is lost begins there. */
const toExactTime = (at: Date): string => at.toISOString().slice(0, -1);

function textOfFailure({ operation }: ChangeContext, { done, message }: Settlement): Text {
  const { backup, lost, elsewhere } = restoreInput(operation);
  const { text: why } = message ?? (done ? texts.otherDataServed() : texts.notReadyInTime());
  if (elsewhere?.automatic === true) return texts.failedElsewhere({ why });
  return lost ? texts.failedNoData({ backup, why }) : texts.failedDataKept({ backup, why });
}
