import { type Selectable, sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Sealer } from "#platform/seal.ts";
import { type SealedColumn, sealedColumn } from "#platform/db/sealed-column.ts";
import { invalid } from "#platform/errors.ts";
import { countInvitation, dayOf, deleteCountsBefore, type MailLimits } from "./mail-counts.ts";
import { MailMessage } from "./mail-message.ts";
import { texts } from "./texts.ts";

const KEPT_DAYS = 30;
const BATCH = 1000;

export type MailRow = Selectable<Tables["mails"]>;

type Of<Kind extends MailMessage["kind"]> = Omit<Extract<MailMessage, { kind: Kind }>, "kind">;

/** Queues mails in the outbox, in the transaction of the change that they report. The worker sends them. */
export type Notices = {
  notice(tx: Tx, about: Of<"notice">): Promise<void>;
  /** A password reset was requested. Whether the name exists is checked when the mail is sent. */
  resetRequested(db: Db | Tx, of: Of<"reset">): Promise<void>;
};

/** Also those that go to any address that a caller names; their number is limited. */
export type Mails = Notices & {
  /** Sends a new user a link to choose a password. */
  invite(tx: Tx, to: Of<"invite">): Promise<void>;
  /** Sends a link to a user's new address, which confirms it. */
  confirmAddress(tx: Tx, to: Of<"address">): Promise<void>;
};

type MailDeps = { sealer: Sealer; clock: Clock };

export const createNotices = ({ sealer, clock }: MailDeps): Notices => ({
  notice: (tx, about) => saveMail(tx, sealer, { kind: "notice", ...about }, clock()),
  resetRequested: (db, of) => saveMail(db, sealer, { kind: "reset", ...of }, clock()),
});

export function createMails(deps: MailDeps & Pick<MailLimits, "invitationsPerDay">): Mails {
  const { sealer, clock, invitationsPerDay: most } = deps;
  const put = async (tx: Tx, message: MailMessage & { person: { accountId: number } }): Promise<void> => {
    const { accountId } = message.person;
    if (!(await countInvitation(tx, { accountId, day: dayOf(clock()), most })))
      throw invalid("email", texts.tooManyInvitations({ most }));
    await saveMail(tx, sealer, message, clock());
  };
  return {
    ...createNotices(deps),
    invite: (tx, to) => put(tx, { kind: "invite", ...to }),
    confirmAddress: (tx, to) => put(tx, { kind: "address", ...to }),
  };
}

async function saveMail(db: Db | Tx, sealer: Sealer, message: MailMessage, now: Date): Promise<void> {
  // The number first: the sealed text is bound to its row.
  const next = await sql<{ id: number }>`select next_id('mails_seq') as id`.execute(db);
  const { id } = next.rows[0] as { id: number };
  const sealed = sealer.seal(placeOf(id), JSON.stringify(message));
  await db.insertInto("mails").values({ id, message: sealed, created_at: now, due_at: now }).execute();
}

export const openMail = (sealer: Sealer, { id, message }: Pick<MailRow, "id" | "message">): MailMessage =>
  MailMessage.parse(JSON.parse(sealer.open(placeOf(id), message)));

const placeOf = (id: number) => ["mails", id] as const;

export const sealedByMail: readonly SealedColumn[] = [
  sealedColumn({
    table: "mails",
    column: "message",
    key: ["id"],
    placeOf: ({ id }) => placeOf(id),
    write: (given) => sql`update mails set message = ${given}`,
  }),
];

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

/**
 * Deletes mails that could not be sent. Until then an operator can see how many there are, and why. Deletes the counts
 * of past days too.
 */
export const createMailSweep =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<void> => {
    await deleteMailsBefore(db, new Date(clock().getTime() - KEPT_DAYS * 86_400_000), BATCH);
    await deleteCountsBefore(db, dayOf(clock()));
  };

/** Deletes mails that were not sent in all that time: given up, or queued while no mail server was configured. */
async function deleteMailsBefore(db: Db, before: Date, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from mails where id = any(array(
      select id from mails where created_at < ${before} order by created_at limit ${most} for update skip locked))`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
