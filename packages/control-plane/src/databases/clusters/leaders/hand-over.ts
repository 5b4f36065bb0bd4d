import { findNodes, type NodeRow, type Wanted, want } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type SpecContext, specsOf } from "../../want-specs.ts";
import { isHeard, type MemberSeen } from "../health/member-condition.ts";
import { confirmLeader, findLeader, setLeader } from "./leader-store.ts";

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
): Promise<Wanted | string> {
  const { database, operation } = context;
  const leader = await findLeader(tx, database);
  if (leader === undefined || leader.node === to)
    return "its nodes do not agree yet on who leads. Try again in a moment.";
  await setLeader(tx, database, { node: to, over: "hand", from: leader.node }, at);
  const specs = await specsOf(tx, await nodesOf(tx, context), context);
  const wanted = await want(tx, operation.id, `hand ${phase}`, specs);
  await want(
    tx,
    operation.id,
    phase,
    specs.filter(({ node }) => node === to),
  );
  return wanted;
}

/**
 * Ends a try. If the other one leads, it does so whoever gave over to it; if not, the one before leads again, in a new term
 * still, for the other may open late. One that is not heard cannot give back: it is for the cluster's health to say so.
 */
export async function endHandOver(
  tx: Tx,
  context: Context,
  { phase, asked, at }: { phase: string; asked: MemberSeen | undefined; at: Date },
): Promise<Wanted> {
  const { database, operation } = context;
  const leader = await findLeader(tx, database);
  // Somebody else was made the leader meanwhile, or this has ended already.
  if (leader === undefined || leader.node !== asked?.node || leader.over !== "hand") return { hosts: [] };
  const { node, from } = leader;
  if (leads(asked)) await confirmLeader(tx, database, leader, at);
  else if (from !== undefined && isHeard(asked.host))
    await setLeader(tx, database, { node: from, over: "hand", from: node }, at);
  else return { hosts: [] };
  return want(tx, operation.id, `led ${phase}`, await specsOf(tx, await nodesOf(tx, context), context));
}

/** By its own word, and that of another host. */
export const leads = ({ report }: Pick<MemberSeen, "report">): boolean =>
  report?.state === "online" && report.role === "primary" && report.shared;

/** A lost one would be made anew, empty, by a spec. */
const nodesOf = async (tx: Tx, { database: { account_id, id } }: Context): Promise<NodeRow[]> =>
  (await findNodes(tx, account_id, id)).filter(({ wanted, tombstoned }) => wanted !== null && !tombstoned);
