import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { emit } from "#events/index.ts";
import { addMembers, adoptNode, findNodes, reissueDesiredSpec } from "#fleet/index.ts";
import { takeWithoutLimits } from "#identity/index.ts";
import { audit } from "#platform/db/audit.ts";
import { findEngineVersion, findPlan } from "#regions/index.ts";
import { type DatabaseRow, insertDatabase, saveDatabase } from "../model/database-store.ts";
import { isCluster } from "../model/database.ts";
import { entityOf, newPassword, passwordPlace, targetOf } from "../model/entity.ts";
import { defaultUpdates, nextWindow } from "../model/maintenance-window.ts";
import { meterDatabase, usageOf } from "../model/usage.ts";
import { texts } from "../model/texts.ts";
import { allowGaps } from "../model/timeline-store.ts";
import { createCluster } from "../spec/cluster-store.ts";
import { unlike } from "../spec/own-version.ts";
import { followMembers, followPrimary, isNodeOf, reissueToOthers, replaceAllBut } from "./recover-cluster.ts";
import { adoptTimeline, followTimeline } from "./recover-timeline.ts";
import { type Context, findById, isSame, specOf } from "./recovery.ts";

/**
 * A database created after our backup. Its password is lost with its row, so it gets a new one. An unknown node of a
 * known database replaced another one since the backup: in a cluster, or because it was restored on another host.
 */
export async function adopt(context: Context, hostId: number, spec: NodeSpec, report: NodeReport): Promise<void> {
  const { tx, sealer, epoch, now, found } = context;
  const { account, id, label, plan: planId, engine } = spec.database;
  const owner = await tx.selectFrom("accounts").select("id").where("id", "=", account).executeTakeFirst();
  const [plan, newest] = [await findPlan(tx, planId), await findEngineVersion(tx, engine)];
  if (owner === undefined || plan === undefined || newest === undefined) {
    found.orphans.push(`${spec.node} (database ${id} of account ${account})`);
    return;
  }
  const known = await findById(tx, spec);
  // The id was assigned again before anyone noticed: the two databases must not be mixed.
  if (known !== undefined && !isSame(known, spec)) {
    found.orphans.push(`${spec.node} (database ${id} of account ${account}, whose id is another database's now)`);
    return;
  }
  if (known !== undefined && !(await isNodeOf(tx, known, spec))) {
    found.orphans.push(`${spec.node} (a former member of database ${id})`);
    return;
  }
  const written = known ?? (await rewriteDatabase(context, spec));
  const database = await withTimeline(written);
  if (known === undefined) {
    await meterDatabase(tx, database, now);
    await takeWithoutLimits(tx, account, usageOf(plan, database.cluster_size));
    await audit(tx, { at: now, account, actor: "operator", action: "recover_database", target: targetOf(id) });
    await emit(tx, {
      accountId: account,
      username: null,
      action: "database_create",
      status: "finished",
      entity: entityOf(database),
      message: texts.recovered(),
      at: now,
    });
  }
  await allowGaps(tx, database, now);
  if (isCluster(database)) await createCluster(tx, sealer, database, []);
  else await replaceAllBut(context, database, [spec.node]);
  await followMembers(context, database, spec);
  const node = await adoptNode(tx, hostId, spec, now);
  if (isCluster(database)) await addMembers(tx, database, [node]);
  await followPrimary(context, database, spec);
  await saveDatabase(tx, account, id, { port: node.port });
  await reissueDesiredSpec(tx, node, await specOf(context, node, database, spec), epoch);
  await reissueToOthers(context, database, (other) => specOf(context, other, database, spec));
  // A rolling change may have been under way.
  if (unlike(database, newest, await findNodes(tx, account, id)) > 0)
    await saveDatabase(tx, account, id, { patch_due_at: nextWindow(database.updates, now).start });
  const name = `${label} (${id})`;
  if (!found.adopted.includes(name)) found.adopted.push(name);

  async function withTimeline(row: DatabaseRow): Promise<DatabaseRow> {
    if (row.timeline_id === null) return adoptTimeline(context, row, spec);
    return isCluster(row) ? row : followTimeline(context, row, spec, report.timeline);
  }

  async function rewriteDatabase({ tx: own }: Context, from: NodeSpec): Promise<DatabaseRow> {
    const { created, replication_type, region, ...rest } = from.database;
    const row = {
      account_id: account,
      id,
      engine_version: engine,
      region,
      plan: planId,
      cluster_size: rest.cluster_size,
      replication_type: replication_type as DatabaseRow["replication_type"],
      encrypted: rest.encrypted,
      ssl_connection: rest.ssl_connection,
      allow_list: rest.allow_list,
      status: adoptedStatus(report, rest),
      updates: JSON.stringify(defaultUpdates),
      port: from.network.port,
      admin_password: sealer.seal(passwordPlace(account, id), newPassword()),
      credentials_version: from.credentials.version + 1,
      fork_source: rest.fork?.source ?? null,
      fork_restore_time: rest.fork?.restore_time === undefined ? null : new Date(rest.fork.restore_time),
      created_at: new Date(created),
      updated_at: now,
      deleted_at: null,
    };
    // The label may have been assigned again before anyone noticed.
    const saved =
      (await insertDatabase(own, { ...row, label })) ??
      (await insertDatabase(own, { ...row, label: `${label.slice(0, 12)}-${id}` }));
    if (saved === undefined) throw new Error(`Database ${id} cannot be adopted: both of its labels are taken.`);
    return saved;
  }
}

/** The other members of a cluster may run: the status is decided when all hosts have been compared. */
function adoptedStatus({ state }: NodeReport, database: Pick<DatabaseRow, "cluster_size">): DatabaseRow["status"] {
  if (state === "running") return "active";
  return isCluster(database) ? "degraded" : "failed";
}
