import type { Principal } from "#identity/index.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Text } from "@moorage/contract/texts";
import type { ChangeDeps } from "../../changes/change-database.ts";
import { requireActionAllowed, statusDuring } from "../../database.ts";
import { lockDatabase, saveDatabase } from "../../database-store.ts";
import { openWork } from "../../changes/open-work.ts";
import { isCluster } from "../cluster-spec.ts";
import { texts } from "../texts.ts";
import { observeMembers } from "./observe-cluster.ts";
import { switchover } from "./switch-activities.ts";
import { choosePrimary } from "./switchable.ts";

export type SwitchDeps = Omit<ChangeDeps, "changeDeadlineSeconds"> & { updateDeadlineSeconds: number };

const refused = (reason: Text): DomainError => new DomainError("wrong-state", { reason });

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
    if (!isCluster(database)) throw refused(texts.switchoverSingleNode());
    const at = deps.clock();
    const chosen = choosePrimary(await observeMembers(tx, database, { now: at }));
    if ("refused" in chosen) throw refused(texts.switchoverNotPossible({ why: chosen.refused.text }));
    await saveDatabase(tx, by.accountId, id, { status: statusDuring("switchover"), updated_at: at });
    await openWork(tx, database, switchover, {
      username: by.username,
      at,
      deadlineSeconds: deps.updateDeadlineSeconds,
    });
    await idempotency.keep(tx, {});
  });
  deps.nudgeRelay();
}
