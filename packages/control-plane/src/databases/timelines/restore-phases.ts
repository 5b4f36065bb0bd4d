/** What a restore asks of the hosts, phase by phase. */
import type { PrimaryTerm } from "@moorage/contract/agent";
import { findNodes, findPhases, type HostsToWake, type NodeRow, setDesiredSpecs, type Share } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import type { ChangeContext } from "../changes/change.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { type ArchiveContext, findTimeline } from "../model/timeline-store.ts";
import { type SpecContext, specsOf } from "../spec/desired-specs.ts";
import { findPrimary, setPrimary } from "../spec/primary-store.ts";
import { restoreInput } from "./restore-input.ts";

export const RESTORED = "restored";
export const RECLONED = "recloned";
export const PREVIOUS = "previous timeline";

export const nodesOf = (tx: Tx, { database }: ChangeContext): Promise<NodeRow[]> =>
  findNodes(tx, database.account_id, database.id);

export const attemptOf = ({ operation }: Pick<ChangeContext, "operation">): number =>
  restoreInput(operation).attempt ?? 1;

/** Each member that restores the data has phases of its own. */
export const phaseOf = (context: Pick<ChangeContext, "operation">, name: string): string =>
  attemptOf(context) === 1 ? name : `${name} ${attemptOf(context)}`;

/** Undefined: not requested yet. */
export async function nodesOfPhase(
  tx: Tx,
  context: Pick<ChangeContext, "operation">,
  name: string,
): Promise<readonly DesiredNode[] | undefined> {
  const phases = await findPhases(tx, context.operation.id);
  return phases.find(({ phase }) => phase === phaseOf(context, name))?.nodes;
}

export const setDesiredTimeline = async (
  tx: Tx,
  phase: string,
  context: ChangeContext & Pick<SpecContext, "orders">,
  nodes: readonly NodeRow[],
  share?: Share,
): Promise<HostsToWake> => setDesiredSpecs(tx, context.operation.id, phase, await specsOf(tx, nodes, context), share);

/**
 * For an asynchronous cluster; undefined for a group. The present primary gets a new term only if it is `alone` and it
 * changes whether it needs another member's confirmation: without one it would wait for ever, and on the previous
 * timeline it must not open without one.
 */
export async function makePrimary(
  tx: Tx,
  database: DatabaseRow,
  next: Omit<PrimaryTerm, "term">,
  at: Date,
  { alone }: { alone: boolean },
): Promise<PrimaryTerm | undefined> {
  const primary = await findPrimary(tx, database);
  if (primary === undefined) return undefined;
  const isSole = (reason: PrimaryTerm["reason"]): boolean => reason === "sole_survivor";
  const stays = primary.node === next.node && (!alone || isSole(primary.reason) === isSole(next.reason));
  return stays ? primary : setPrimary(tx, database, next, at);
}

export async function archiveContextWithRollback(tx: Tx, context: ChangeContext): Promise<ArchiveContext> {
  const { timeline, previous, lost } = restoreInput(context.operation);
  const { ordinal } = await findTimeline(tx, previous);
  return { ...(await archiveContextOn(tx, context, timeline)), ...(lost ? {} : { keep: ordinal }) };
}

/** The row's present password and settings, with the data of another timeline. */
export async function archiveContextOn(
  tx: Tx,
  { archiveContext, database }: ChangeContext,
  timeline: string,
): Promise<ArchiveContext> {
  if (archiveContext === undefined) throw new Error(`Database ${database.id} has no timeline to restore from.`);
  return { ...archiveContext, timeline: await findTimeline(tx, timeline) };
}
