import {
  type EntityGrant,
  type EntityType,
  type GlobalGrant,
  type GrantFlag,
  grantFlags,
  type GrantList,
  grantLists,
  type Grants,
  type GrantsChange,
  type Permission,
} from "@moorage/contract";
import { sql } from "kysely";
import { dropEntityGrants, dropGlobalGrants, saveEntityGrants, saveGlobalGrants } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { UserRow } from "./user-store.ts";

/** As stored: a missing grant is not granted. */
type GlobalGrants = Partial<Record<GlobalGrant | GrantFlag, boolean | undefined>>;

type User = { account_id: number; id: number };
type NewGrant = { id: number; permissions: Permission | null };

/** The wire's lists for kinds of objects that exist here, with their internal names and tables. */
const grantable = {
  database: { type: "database", table: "databases" },
  image: { type: "image", table: "images" },
  linode: { type: "compute", table: "computes" },
} as const satisfies Partial<Record<GrantList, { type: EntityType; table: string }>>;
type GrantableList = keyof typeof grantable;
export const grantableLists = Object.keys(grantable) as GrantableList[];

type NewGrants = Partial<Record<GrantableList, readonly NewGrant[]>>;

/** Undefined: the user is unrestricted and has no grants. */
export const viewGrants = async (db: Db, user: UserRow, which: "all" | "held"): Promise<Grants | undefined> =>
  user.restricted ? readGrants(db, user, which) : undefined;

const empty = Object.fromEntries(grantLists.map((list) => [list, []])) as unknown as Record<GrantList, []>;

/** `all` has an entry for every object that can be granted, `held` only for those that the user may see. */
export const readGrants = async (db: Db | Tx, user: UserRow, which: "all" | "held"): Promise<Grants> => ({
  ...empty,
  global: viewOfGlobal(user.global_grants),
  database: await listGrants(db, user, "database", which),
  image: await listGrants(db, user, "image", which),
  linode: await listGrants(db, user, "linode", which),
});

/** The account's objects of a kind with the user's permissions, or only those with a permission. */
export async function listGrants(
  db: Db | Tx,
  user: User,
  list: GrantableList,
  which: "all" | "held",
): Promise<EntityGrant[]> {
  const { type, table } = grantable[list];
  const { rows } = await sql<EntityGrant>`
    select entity.id, entity.label, held.permission as permissions
    from ${sql.table(table)} entity
    left join entity_grants held on held.account_id = entity.account_id and held.entity_id = entity.id
      and held.entity_type = ${type} and held.user_id = ${user.id}
    where entity.account_id = ${user.account_id} and entity.deleted_at is null
      and (${which === "all"}::boolean or held.permission is not null)
    order by entity.id`.execute(db);
  return rows;
}

export const viewOfGlobal = (held: GlobalGrants): Grants["global"] => ({
  account_access: held.account_write === true ? "read_write" : held.account_read === true ? "read_only" : null,
  ...(Object.fromEntries(grantFlags.map((flag) => [flag, held[flag] === true])) as Record<GrantFlag, boolean>),
});

/** The global grants of a request, as stored. */
export const keptGlobal = ({ account_access, ...flags }: NonNullable<GrantsChange["global"]>): GlobalGrants =>
  account_access === undefined
    ? flags
    : { ...flags, account_read: account_access !== null, account_write: account_access === "read_write" };

/**
 * Returns the objects that the account does not have: those of other accounts, and deleted ones. The others stay
 * locked, so that none is deleted or transferred, with its grants, before the new grants are written.
 */
export async function missingEntities(
  tx: Tx,
  accountId: number,
  list: GrantableList,
  ids: readonly number[],
): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ id: number }>`
    select id from ${sql.table(grantable[list].table)}
    where account_id = ${accountId} and id = any(${ids}::bigint[]) and deleted_at is null
    order by id for share`.execute(tx);
  return new Set(ids).difference(new Set(rows.map(({ id }) => id)));
}

/**
 * Changes the named grants and leaves the rest. Of an object named twice, the last entry counts. Returns the user
 * afterwards.
 */
export async function saveGrants(
  tx: Tx,
  user: User,
  { global, ...lists }: NewGrants & { global: GlobalGrants },
): Promise<UserRow> {
  const after = await saveGlobalGrants(tx, user, global);
  for (const list of grantableLists) await saveEntityGrants(tx, user, grantable[list].type, lists[list] ?? []);
  return after;
}

export async function dropAllGrants(tx: Tx, user: User): Promise<void> {
  await dropGlobalGrants(tx, user);
  await dropEntityGrants(tx, user);
}
