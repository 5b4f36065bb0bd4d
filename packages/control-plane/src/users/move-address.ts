import type { Mails } from "#mail/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { deletePasswordLinks, type UserRow } from "./user-store.ts";

/**
 * Links that give access are mailed to the user. So the old address is notified of the change, and links sent to it
 * become invalid.
 */
export async function moveAddress(tx: Tx, mails: Mails, before: UserRow): Promise<void> {
  await deletePasswordLinks(tx, before);
  await mails.notice(tx, { email: before.email, username: before.username, what: "address_changed" });
}
