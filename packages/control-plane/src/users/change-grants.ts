import { grantLists, type Grants, type GrantsChange } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { UserDeps } from "./create-user.ts";
import { grantableLists, keptGlobal, missingEntities, readGrants, saveGrants } from "./grant-store.ts";
import { grantTexts as texts } from "./texts.ts";
import { lockUser } from "./user-store.ts";
import { recordUserChange, requireRestricted } from "./user.ts";

/** Changes the named grants; the others stay. */
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

    const given = { global: keptGlobal(change.global ?? {}), ...listsOf(change) };
    const held = await readGrants(tx, await saveGrants(tx, user, given), "all");
    await recordUserChange(tx, by, {
      audited: "change_grants",
      event: "user_update",
      user,
      at: clock(),
      detail: given,
    });
    return held;
  });
  await notify(db, "identity");
  return grants;
}

/** The lists in the change whose kind of object exists here. */
const listsOf = (change: GrantsChange) =>
  Object.fromEntries(grantableLists.flatMap((list) => (change[list] === undefined ? [] : [[list, change[list]]])));

/** The other kinds do not exist here, so they have nothing that could be granted. */
async function faultsOf(tx: Tx, accountId: number, change: GrantsChange): Promise<ErrorDetail[]> {
  const faults: ErrorDetail[] = [];
  for (const list of grantLists) {
    const ids = (change[list] ?? []).map(({ id }) => id);
    const grantable = grantableLists.find((each) => each === list);
    const missing = grantable === undefined ? new Set(ids) : await missingEntities(tx, accountId, grantable, ids);
    for (const [index, id] of ids.entries()) {
      const field = `${list}[${index}].id`;
      if (missing.has(id)) faults.push({ field, reason: invalidReason(field, texts.objectUnknown({ list, id })) });
    }
  }
  return faults;
}
