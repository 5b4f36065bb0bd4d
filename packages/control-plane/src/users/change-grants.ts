import { type Grants, type GrantList, type GrantsChange, grantLists } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { UserDeps } from "./create-user.ts";
import { missingDatabases, saveGrants } from "./grant-store.ts";
import { keptGlobal } from "./grants.ts";
import { recordUserChange } from "./record-change.ts";
import { requireRestricted } from "./user.ts";
import { lockUser } from "./user-store.ts";
import { readGrants } from "./view-grants.ts";

/** What is named changes, the rest stays. */
export async function changeGrants(
  { db, clock }: UserDeps,
  by: Principal,
  username: string,
  change: GrantsChange,
): Promise<Grants> {
  const grants = await db.transaction().execute(async (tx) => {
    const user = await lockUser(tx, by, username);
    requireRestricted(user);
    const faults = await faultsOf(tx, by.accountId, change);
    if (faults.length > 0) throw new DomainError("invalid", ...faults);

    const [global, database] = [keptGlobal(change.global ?? {}), change.database ?? []];
    const held = await readGrants(tx, await saveGrants(tx, user, { global, database }), "all");
    await recordUserChange(tx, by, {
      audited: "change_grants",
      event: "user_update",
      user,
      at: clock(),
      detail: { global, database },
    });
    return held;
  });
  await notify(db, "identity");
  return grants;
}

/** There is nothing yet in the other lists that could be granted. */
async function faultsOf(tx: Tx, accountId: number, change: GrantsChange): Promise<ErrorDetail[]> {
  const missing = await missingDatabases(
    tx,
    accountId,
    (change.database ?? []).map(({ id }) => id),
  );
  const isThere = (list: GrantList, id: number): boolean => list === "database" && !missing.has(id);
  return grantLists.flatMap((list) =>
    (change[list] ?? []).flatMap(({ id }, index) => {
      const field = `${list}[${index}].id`;
      return isThere(list, id)
        ? []
        : [{ field, reason: invalidReason(field, `the id of a ${list} of this account; ${id} is none`) }];
    }),
  );
}
