import { type Selectable, sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

const KEPT_DAYS = 90;

type NewLogin = {
  at: Date;
  /** Undefined: no user has the given name. */
  person: { accountId: number; userId: number } | undefined;
  address: string;
  status: "successful" | "failed";
};

export type LoginRow = Pick<
  Selectable<Tables["logins"]>,
  "id" | "at" | "username" | "restricted" | "status" | "address"
>;

/** The logins of a whole account, or of one user. */
type WhoseLogins = { accountId: number; userId?: number };

/** One row and one lookup in every case: the time taken must not reveal whether the user exists. */
export async function recordLogin(db: Db | Tx, { at, person, address, status }: NewLogin): Promise<void> {
  await sql`
    insert into logins (at, account_id, user_id, username, restricted, address, status)
    select ${at}::timestamptz, users.account_id, users.id, users.username, users.restricted,
      ${plain(address)}::inet, ${status}::text
    from (select) as attempt
    left join users on users.account_id = ${person?.accountId ?? 0}::bigint and users.id = ${person?.userId ?? 0}::bigint
  `.execute(db);
}

/** A dual-stack socket reports IPv4 addresses in their IPv6 form. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "");

export const findLogin = (db: Db, whose: WhoseLogins, id: number, now: Date): Promise<LoginRow> =>
  loginsOf(db, whose, now).where("id", "=", id).executeTakeFirstOrThrow(notFound);

export const listLoginPage = (db: Db, whose: WhoseLogins, page: PageRequest, filter: Filter, now: Date) =>
  listPage(loginsOf(db, whose, now), { page, filter, lastly: { by: "id" } });

const loginsOf = (db: Db, { accountId, userId }: WhoseLogins, now: Date) =>
  db
    .selectFrom("logins")
    .select(["id", "at", "username", "restricted", "status", sql<string>`host(address)`.as("address")])
    .where("account_id", "=", accountId)
    .where("at", ">=", keptSince(now))
    .$if(userId !== undefined, (query) => query.where("user_id", "=", userId as number));

/** Removes logins that are no longer shown. */
export const createLoginSweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch?: number) =>
  (): Promise<void> =>
    deleteInBatches(
      db,
      (most) => sql`
        delete from logins where ctid = any(array(
          select ctid from logins where at < ${keptSince(clock())} order by at limit ${most} for update skip locked))`,
      batch,
    );

const keptSince = (now: Date): Date => new Date(now.getTime() - KEPT_DAYS * 86_400_000);
