import { findNodes, type NodeRow, type HostsToWake, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type SpecContext, specsOf } from "../../desired-specs.ts";
import { isReachable, type ObservedMember } from "../health/member-condition.ts";
import { texts } from "../texts.ts";
import { confirmPrimary, findPrimary, setPrimary } from "./primary-store.ts";

type Context = SpecContext & { operation: { id: number } };

/**
 * The longest time without writes if the primary cannot hand over: then it becomes the primary again. Usually a
 * handover takes less than a second.
 */
export const HAND_OVER_MS = 30_000;

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

/**
 * Ends an attempt. If the new member is primary, the term drops its condition; if not, the previous one becomes primary
 * again, in a higher term, because the other may still open late. An unreachable member cannot hand back: the health
 * check handles that.
 */
export async function endHandOver(
  tx: Tx,
  context: Context,
  { phase, requested, at }: { phase: string; requested: ObservedMember | undefined; at: Date },
): Promise<HostsToWake> {
  const { database, operation } = context;
  const primary = await findPrimary(tx, database);
  // Another member was made primary meanwhile, or the attempt has ended already.
  if (primary === undefined || primary.node !== requested?.node || primary.reason !== "handover") return { hosts: [] };
  const { node, from } = primary;
  if (isPrimary(requested)) await confirmPrimary(tx, database, primary, at);
  else if (from !== undefined && isReachable(requested.host))
    await setPrimary(tx, database, { node: from, reason: "handover", from: node }, at);
  else return { hosts: [] };
  return setDesiredSpecs(tx, operation.id, `ended ${phase}`, await specsOf(tx, await nodesOf(tx, context), context));
}

/** As reported by its own host and confirmed by another. */
export const isPrimary = ({ report }: Pick<ObservedMember, "report">): boolean =>
  report?.state === "online" && report.role === "primary" && report.shared;

/** A spec would make a lost node again, empty. */
const nodesOf = async (tx: Tx, { database: { account_id, id } }: Context): Promise<NodeRow[]> =>
  (await findNodes(tx, account_id, id)).filter(({ desired_spec, tombstoned }) => desired_spec !== null && !tombstoned);
