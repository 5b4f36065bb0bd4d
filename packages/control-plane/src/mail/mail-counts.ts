import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";

/**
 * How many mails go to addresses that nobody has confirmed, so that nobody mails strangers with them. Notices to a
 * confirmed address are not counted: nobody can use up what protects an owner.
 */
export type MailLimits = {
  /** Invitations and confirmations of an account in a day. */
  invitationsPerDay: number;
  /** Mails to one address in a day, of all accounts. */
  perRecipient: number;
};

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

type OfAccount = { accountId: number; day: string; most: number };

/** False: the account has reached its limit of the day. */
export const countInvitation = (tx: Tx, of: OfAccount): Promise<boolean> => countOfAccount(tx, of, "invitations");

/**
 * A password link that was requested for a user who never accepted the invitation. Anybody can request it, so it is not
 * taken from the account's invitations.
 */
export const countReset = (tx: Tx, of: OfAccount): Promise<boolean> => countOfAccount(tx, of, "resets");

async function countOfAccount(
  tx: Tx,
  { accountId, day, most }: OfAccount,
  what: "invitations" | "resets",
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("invitation_counts")
    .values({ account_id: accountId, day, invitations: 0, resets: 0, [what]: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "day"])
        .doUpdateSet(({ eb }) => ({ [what]: eb(`invitation_counts.${what}`, "+", 1) }))
        .where(`invitation_counts.${what}`, "<", most),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows !== 0n;
}

/** False: the address has had all the mails of the day. */
export async function countRecipient(
  tx: Tx,
  sealer: Sealer,
  { email, day, most }: { email: string; day: string; most: number },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("recipient_counts")
    .values({ day, recipient: sealer.derive(["recipient_counts", email.toLowerCase()]), mails: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(["day", "recipient"])
        .doUpdateSet(({ eb }) => ({ mails: eb("recipient_counts.mails", "+", 1) }))
        .where("recipient_counts.mails", "<", most),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows !== 0n;
}

export async function deleteCountsBefore(db: Db, day: string): Promise<void> {
  await db.deleteFrom("invitation_counts").where("day", "<", day).execute();
  await db.deleteFrom("recipient_counts").where("day", "<", day).execute();
}
