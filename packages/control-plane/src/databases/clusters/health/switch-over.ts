import type { Principal } from "#identity/index.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { ChangeDeps } from "../../change-database.ts";
import { requireActionAllowed, statusDuring } from "../../database.ts";
import { lockDatabase, saveDatabase } from "../../database-store.ts";
import { openWork } from "../../open-work.ts";
import { isCluster } from "../cluster-spec.ts";
import { observeMembers } from "./observe-cluster.ts";
import { choosePrimary } from "./switchable.ts";

export type SwitchDeps = Omit<ChangeDeps, "changeDeadlineSeconds"> & { updateDeadlineSeconds: number };

const refused = (why: string): DomainError =>
  new DomainError("wrong-state", { reason: `Cannot switch over this database: ${why}` });

/**
 * Requests a planned change of the primary: refused where clients would have to wait, or no other node can become
 * primary.
 */
export async function switchOver(deps: SwitchDeps, by: Principal, id: number, idempotency: Idempotency): Promise<void> {
  await transact(deps.db, "api.switchMysqlPrimary", async (tx) => {
    await idempotency.claim(tx);
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    requireActionAllowed("switch over", database.status);
    if (!isCluster(database))
      throw refused("it has one node, and no other to lead. Only databases of three nodes (cluster_size 3) have one.");
    const at = deps.clock();
    const chosen = choosePrimary(await observeMembers(tx, database, { now: at }));
    if ("refused" in chosen) throw refused(chosen.refused);
    await saveDatabase(tx, by.accountId, id, { status: statusDuring("switchover"), updated_at: at });
    await openWork(tx, database, {
      ...{ kind: "switchOver", audited: "switch_over_database", username: by.username, at },
      events: ["database_switchover"],
      deadlineSeconds: deps.updateDeadlineSeconds,
    });
    await idempotency.keep(tx, {});
  });
  deps.nudgeRelay();
}
