import { z } from "zod";

const Person = z.object({ accountId: z.int(), userId: z.int() });

/** What a user is told of, whatever their settings say: they should know at once that somebody changed how one signs in. */
export const NoticeOf = z.enum([
  "password_changed",
  "tfa_enabled",
  "tfa_disabled",
  "passkey_added",
  "passkey_removed",
  "address_changed",
]);
export type NoticeOf = z.output<typeof NoticeOf>;

/**
 * What waits in the outbox. A link that opens an account is never among it: it is made when the letter is sent. For the
 * same reason a reset names what was typed, not a user: to put it there takes the same work for a name that nobody has.
 */
export const MailMessage = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("invite"), person: Person, email: z.string(), username: z.string(), company: z.string() }),
  z.object({ kind: z.literal("notice"), email: z.string(), username: z.string(), what: NoticeOf }),
  z.object({ kind: z.literal("reset"), name: z.string() }),
]);
export type MailMessage = z.output<typeof MailMessage>;
