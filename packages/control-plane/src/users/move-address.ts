import type { Mails } from "#mail/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { deletePasswordLinks, type UserRow } from "./user-store.ts";

/**
 * Mail to a user opens the account: links are sent there. So the old address is told that it is no longer the one, and
 * what was sent to it opens nothing any more.
 */
export async function moveAddress(tx: Tx, mails: Mails, before: UserRow): Promise<void> {
  await deletePasswordLinks(tx, before);
  await mails.notice(tx, { email: before.email, username: before.username, what: "address_changed" });
}
