import { findNodes, type NodeRow, type HostsToWake, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type SpecContext, specsOf } from "../../desired-specs.ts";
import { isReachable, type ObservedMember } from "../health/member-condition.ts";
import { confirmPrimary, findPrimary, setPrimary } from "./primary-store.ts";

type Context = SpecContext & { operation: { id: number } };

/**
 * So long nobody takes writes at most, if the one that leads cannot give over to the other: then it leads again. Usually
 * it takes less than a second.
 */
export const HAND_OVER_MS = 30_000;

/**
 * The one that leads gives over to another, in a new term that all members are told of at once. The phase names the other
 * one alone: by it a change that was planned is known.
 */
export async function handOver(
  tx: Tx,
  context: Context,
  { phase, to, at }: { phase: string; to: string; at: Date },
): Promise<HostsToWake | string> {
  const { database, operation } = context;
  const primary = await findPrimary(tx, database);
  if (primary === undefined || primary.node === to)
    return "its nodes do not agree yet on who leads. Try again in a moment.";
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
 * Ends a try. If the other one leads, it does so whoever gave over to it; if not, the one before leads again, in a new term
 * still, for the other may open late. One that is not heard cannot give back: it is for the cluster's health to say so.
 */
export async function endHandOver(
  tx: Tx,
  context: Context,
  { phase, requested, at }: { phase: string; requested: ObservedMember | undefined; at: Date },
): Promise<HostsToWake> {
  const { database, operation } = context;
  const primary = await findPrimary(tx, database);
  // Somebody else was made the leader meanwhile, or this has ended already.
  if (primary === undefined || primary.node !== requested?.node || primary.reason !== "handover") return { hosts: [] };
  const { node, from } = primary;
  if (isPrimary(requested)) await confirmPrimary(tx, database, primary, at);
  else if (from !== undefined && isReachable(requested.host))
    await setPrimary(tx, database, { node: from, reason: "handover", from: node }, at);
  else return { hosts: [] };
  return setDesiredSpecs(tx, operation.id, `ended ${phase}`, await specsOf(tx, await nodesOf(tx, context), context));
}

/** By its own word, and that of another host. */
export const isPrimary = ({ report }: Pick<ObservedMember, "report">): boolean =>
  report?.state === "online" && report.role === "primary" && report.shared;

/** A lost one would be made anew, empty, by a spec. */
const nodesOf = async (tx: Tx, { database: { account_id, id } }: Context): Promise<NodeRow[]> =>
  (await findNodes(tx, account_id, id)).filter(({ desired_spec, tombstoned }) => desired_spec !== null && !tombstoned);
