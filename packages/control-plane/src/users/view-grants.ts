import { type Grants, type GrantList, grantLists } from "@moorage/contract";
import type { Db, Tx } from "#platform/db/database.ts";
import { listGrants } from "./grant-store.ts";
import { viewOfGlobal } from "./grants.ts";
import type { UserRow } from "./user-store.ts";

const empty = Object.fromEntries(grantLists.map((list) => [list, []])) as unknown as Record<GrantList, []>;

/** `all` has an entry for every object that can be granted, `held` only for those that the user may see. */
export const readGrants = async (db: Db | Tx, user: UserRow, which: "all" | "held"): Promise<Grants> => ({
  ...empty,
  global: viewOfGlobal(user.global_grants),
  database: await listGrants(db, user, "database", which),
  image: await listGrants(db, user, "image", which),
  linode: await listGrants(db, user, "linode", which),
});

/** Undefined: the user is unrestricted and has no grants. */
export const viewGrants = async (db: Db, user: UserRow, which: "all" | "held"): Promise<Grants | undefined> =>
  user.restricted ? readGrants(db, user, which) : undefined;
