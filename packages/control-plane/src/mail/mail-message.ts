import { z } from "zod";

const Person = z.object({ accountId: z.int(), userId: z.int() });

/**
 * Security notices, which users get whatever their settings: they should learn at once that a way to sign in was
 * changed.
 */
export const NoticeOf = z.enum([
  "password_changed",
  "tfa_enabled",
  "tfa_disabled",
  "passkey_added",
  "passkey_removed",
  "address_requested",
  "address_changed",
]);
export type NoticeOf = z.output<typeof NoticeOf>;

/**
 * The content of the outbox. It never contains a link that gives access: links are created when the mail is sent. For
 * the same reason a reset contains the typed name, not a user: queueing it takes the same work for an unknown name.
 */
export const MailMessage = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("invite"), person: Person, email: z.string(), username: z.string(), company: z.string() }),
  z.object({ kind: z.literal("address"), person: Person, email: z.string() }),
  z.object({ kind: z.literal("notice"), email: z.string(), username: z.string(), what: NoticeOf }),
  z.object({ kind: z.literal("reset"), name: z.string() }),
]);
export type MailMessage = z.output<typeof MailMessage>;
