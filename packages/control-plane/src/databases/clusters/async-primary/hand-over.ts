import { findNodes, type HostsToWake, type NodeRow, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { type SpecContext, specsOf } from "../../spec/desired-specs.ts";
import { confirmPrimary, findPrimary, sendPrimary, setPrimary } from "../../spec/primary-store.ts";
import type { ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";
import { isAgreedInTerm, outcomeOfHandOver } from "./hand-over-rules.ts";

/**
 * The longest time without writes if the primary cannot hand over: then it becomes the primary again. Usually a
 * handover takes less than a second.
 */
export const HAND_OVER_MS = 30_000;

type Context = SpecContext & { operation: { id: number } };

/**
 * The primary hands over to another member, in a new term that all members get at once. The phase names only the new
 * primary: that marks the change as planned.
 */
export async function handOver(
  tx: Tx,
  context: Context,
  { phase, to, at }: { phase: string; to: string; at: Date },
): Promise<HostsToWake | string> {
  const { database, operation } = context;
  const primary = await findPrimary(tx, database);
  if (primary === undefined || primary.node === to) return texts.noAgreedPrimary().text;
  await setPrimary(tx, database, { node: to, reason: "handover", from: primary.node }, at);
  const specs = await specsOf(tx, await nodesOf(tx, context), context);
  const toWake = await setDesiredSpecs(tx, operation.id, `handover ${phase}`, specs);
  await setDesiredSpecs(
    tx,
    operation.id,
    phase,
    specs.filter(({ node }) => node === to),
  );
  return toWake;
}

/** Ends an attempt: see `outcomeOfHandOver`. */
export async function endHandOver(
  tx: Tx,
  context: Context,
  { phase, requested, at }: { phase: string; requested: ObservedMember | undefined; at: Date },
): Promise<HostsToWake> {
  const { database, operation } = context;
  const outcome = outcomeOfHandOver(await findPrimary(tx, database), requested);
  if (outcome === undefined) return { hosts: [] };
  if ("confirm" in outcome) await confirmPrimary(tx, database, outcome.confirm, at);
  else await setPrimary(tx, database, outcome.back, at);
  return setDesiredSpecs(tx, operation.id, `ended ${phase}`, await specsOf(tx, await nodesOf(tx, context), context));
}

/**
 * All members follow the new primary: its term no longer needs the condition under which it started. The next start of
 * its server must not wait for the former primary, which may be gone by then. The caller has locked the database's row.
 */
export async function confirmWhenHealthy(
  tx: Tx,
  database: DatabaseRow,
  members: readonly ObservedMember[],
  at: Date,
): Promise<HostsToWake> {
  const primary = await findPrimary(tx, database);
  if (primary === undefined || primary.reason === "fenced") return { hosts: [] };
  if (!isAgreedInTerm(primary, members)) return { hosts: [] };
  return sendPrimary(tx, database, await confirmPrimary(tx, database, primary, at));
}

/** A spec would make a lost node again, empty. */
const nodesOf = async (tx: Tx, { database: { account_id, id } }: Context): Promise<NodeRow[]> =>
  (await findNodes(tx, account_id, id)).filter(({ desired_spec, tombstoned }) => desired_spec !== null && !tombstoned);
