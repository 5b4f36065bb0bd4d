import { amendDesired, findNodes, hasReportedDesired, type HostsToWake, type NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { conditionOf, type HealthSettings } from "../member-condition.ts";
import { isAtHand } from "./cluster-health.ts";
import { observeCluster } from "./observe-cluster.ts";

/**
 * Takes back orders that outlived their operation: to reclone, once a replacement that had missed its deadline was carried
 * out (until then the member is not promoted: its data might be those from before), and to stay out of groups, as soon
 * as no operation is under way: one that starts a group gives and ends that order itself. Locks hosts and nodes, so the
 * caller must not have locked the cluster yet.
 */
export async function withdrawOrders(
  settings: HealthSettings,
  tx: Tx,
  database: DatabaseRow,
  moment: { now: Date; since: Date },
): Promise<HostsToWake> {
  if (database.deleted_at !== null) return { hosts: [] };
  const { members, busy } = await observeCluster(tx, database, moment);
  // The operation's own end does it.
  if (busy) return { hosts: [] };
  const healthy = members.filter((member) => conditionOf(member, settings) === "healthy").map(({ node }) => node);
  const nodes = await findNodes(tx, database.account_id, database.id);
  // A report about an earlier spec does not show that the order was carried out.
  const isRecloned = (node: NodeRow): boolean => healthy.includes(node.id) && hasReportedDesired(node);
  const recloned = nodes.filter(isRecloned).map(({ id }) => id);
  return amendDesired(tx, nodes.filter(hasOrder), (spec) => {
    if (spec.cluster === undefined) return spec;
    const { reclone, stay_out, ...cluster } = spec.cluster;
    const isDone = reclone === undefined || recloned.includes(spec.node);
    const staysOut = stay_out !== undefined && !isAtHand(database.status);
    return { ...spec, cluster: { ...cluster, ...(!isDone && { reclone }), ...(staysOut && { stay_out }) } };
  });
}

/** Ends the orders to stay out of groups. */
export async function letJoin(tx: Tx, { account_id, id }: DatabaseRow): Promise<HostsToWake> {
  return amendDesired(tx, await findNodes(tx, account_id, id), ({ cluster, ...spec }) => {
    if (cluster === undefined) return spec;
    const { stay_out: _over, ...others } = cluster;
    return { ...spec, cluster: others };
  });
}

const hasOrder = ({ desired_spec }: NodeRow): boolean =>
  desired_spec?.cluster?.reclone !== undefined || desired_spec?.cluster?.stay_out !== undefined;
