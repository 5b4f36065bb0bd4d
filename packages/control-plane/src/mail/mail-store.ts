import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Sealer } from "#platform/seal.ts";
import { MailMessage } from "./mail-message.ts";

export type MailRow = Selectable<Tables["mails"]>;

const placeOf = (id: number) => ["mails", id] as const;

export async function saveMail(db: Db | Tx, sealer: Sealer, message: MailMessage, now: Date): Promise<void> {
  // The number first: the sealed text is bound to its row.
  const next = await sql<{ id: number }>`select next_id('mails_seq') as id`.execute(db);
  const { id } = next.rows[0] as { id: number };
  const sealed = sealer.seal(placeOf(id), JSON.stringify(message));
  await db.insertInto("mails").values({ id, message: sealed, created_at: now, due_at: now }).execute();
}

export const openMail = (sealer: Sealer, { id, message }: Pick<MailRow, "id" | "message">): MailMessage =>
  MailMessage.parse(JSON.parse(sealer.open(placeOf(id), message)));

/** Claims mails that are due. No other sender gets them until `until`; if this one dies, they are due again then. */
export async function claimMails(db: Db, now: Date, until: Date, most: number): Promise<MailRow[]> {
  const { rows } = await sql<MailRow>`
    update mails set due_at = ${until}, tries = tries + 1 where id = any(array(
      select id from mails where given_up_at is null and due_at <= ${now}
      order by due_at limit ${most} for update skip locked))
    returning *`.execute(db);
  return rows;
}

export async function deleteMail(db: Db, id: number): Promise<void> {
  await db.deleteFrom("mails").where("id", "=", id).execute();
}

export async function tryAgain(db: Db, id: number, at: Date, error: string): Promise<void> {
  await db.updateTable("mails").set({ due_at: at, last_error: error }).where("id", "=", id).execute();
}

export async function giveUp(db: Db, id: number, now: Date, error: string): Promise<void> {
  await db.updateTable("mails").set({ given_up_at: now, last_error: error }).where("id", "=", id).execute();
}

/** Deletes mails that were not sent in all that time: given up, or queued while no mail server was configured. */
export async function deleteMailsBefore(db: Db, before: Date, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from mails where id = any(array(
      select id from mails where created_at < ${before} order by created_at limit ${most} for update skip locked))`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

/** Users of a closed account get no link. */
const users = (db: Db) =>
  db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["users.account_id", "users.id", "users.username", "users.email"])
    .where("accounts.closed_at", "is", null);

/** A name is unique in the installation, without regard to case. */
export const findByName = (db: Db, name: string) =>
  users(db).where(sql`lower(users.username)`, "=", name.toLowerCase()).executeTakeFirst();

/** While an invitation waits, the user may be renamed, get another address, or be deleted. */
export const findPerson = (db: Db, { accountId, userId }: { accountId: number; userId: number }) =>
  users(db).where("users.account_id", "=", accountId).where("users.id", "=", userId).executeTakeFirst();
