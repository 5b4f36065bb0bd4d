import type { Text } from "@moorage/contract/texts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { openWork } from "../../changes/change.ts";
import { lockDatabase, saveDatabase } from "../../model/database-store.ts";
import { isCluster, requireActionAllowed, statusDuring } from "../../model/database.ts";
import { texts } from "../texts.ts";
import { observeMembers } from "./observe-cluster.ts";
import { choosePrimary, switchover } from "./switch-activities.ts";

export type SwitchDeps = { db: Db; clock: Clock; nudgeRelay: () => void; updateDeadlineSeconds: number };

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
