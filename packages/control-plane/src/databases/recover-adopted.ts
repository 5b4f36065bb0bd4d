import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { emit } from "#events/index.ts";
import { adoptNode, findNodes, reissueDesiredSpec } from "#fleet/index.ts";
import { takeWithoutLimits } from "#identity/index.ts";
import { audit } from "#platform/audit.ts";
import { findEngineVersion, findPlan } from "#regions/index.ts";
import { isCluster } from "./clusters/cluster-spec.ts";
import { createCluster } from "./clusters/cluster-store.ts";
import { followPrimary } from "./clusters/async-primary/recover-primary.ts";
import { followMembers, isMember, reissueToOthers } from "./clusters/recover-members.ts";
import { unlike } from "./clusters/rolling/own-version.ts";
import { newPassword } from "./create-database.ts";
import { usageOf } from "./usage.ts";
import { type DatabaseRow, insertDatabase, saveDatabase } from "./database-store.ts";
import { entityOf, passwordPlace, targetOf } from "./entity.ts";
import { defaultUpdates, nextWindow } from "./maintenance-window.ts";
import { meterDatabase } from "./meter-database.ts";
import { type Context, findById, isSame, specOf } from "./recovery.ts";
import { texts } from "./texts.ts";
import { allowGap } from "./timeline-store.ts";
import { adoptTimeline } from "./timelines/recover-timeline.ts";

/**
 * A database created after our backup. Its password is lost with its row, so it gets a new one. An unknown node of a
 * known cluster replaced another one since the backup.
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
  if (known !== undefined && !(await isMember(tx, known, spec, report))) {
    found.orphans.push(`${spec.node} (a former member of database ${id})`);
    return;
  }
  const written = known ?? (await rewriteDatabase(context, spec));
  const database = written.timeline_id === null ? await adoptTimeline(context, written, spec) : written;
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
  await allowGap(tx, database);
  await followMembers(context, database, spec);
  const node = await adoptNode(tx, hostId, spec, now);
  if (isCluster(database)) await createCluster(tx, sealer, database, [node]);
  await followPrimary(context, database, spec);
  await saveDatabase(tx, account, id, { port: node.port });
  await reissueDesiredSpec(tx, node, await specOf(context, node, database, spec), epoch);
  await reissueToOthers(context, database, (other) => specOf(context, other, database, spec));
  // A rolling change may have been under way.
  if (unlike(database, newest, await findNodes(tx, account, id)) > 0)
    await saveDatabase(tx, account, id, { patch_due_at: nextWindow(database.updates, now).start });
  const name = `${label} (${id})`;
  if (!found.adopted.includes(name)) found.adopted.push(name);

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
