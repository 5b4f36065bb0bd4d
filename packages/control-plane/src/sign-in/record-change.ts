import type { EventAction } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { NoticeOf } from "#mail/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { SignInDeps } from "./deps.ts";
import type { UserRow } from "./user-store.ts";

/** The event and the mail of each change; the API has no event for passkeys. */
const changes = {
  tfa_enabled: { event: "tfa_enabled", notice: "tfa_enabled" },
  tfa_disabled: { event: "tfa_disabled", notice: "tfa_disabled" },
  password_chosen: { event: "password_reset", notice: "password_changed" },
  address_changed: { event: "user_update", notice: "address_changed" },
  passkey_added: { event: undefined, notice: "passkey_added" },
  passkey_removed: { event: undefined, notice: "passkey_removed" },
} as const satisfies Record<string, { event: EventAction | undefined; notice: NoticeOf }>;

/** The last statements of a change of how a user signs in: its audit entry, a mail to the user, and its event. */
export async function recordSignInChange(
  tx: Tx,
  { clock, mails }: Pick<SignInDeps, "clock" | "mails">,
  user: UserRow,
  change: keyof typeof changes,
  by?: "operator",
): Promise<void> {
  const { account_id: accountId, id, username, email } = user;
  const { event, notice } = changes[change];
  const at = clock();
  await audit(tx, { at, account: accountId, actor: by ?? username, action: change, target: `user/${id}` });
  // A user without a password never accepted an invitation: the address may be a stranger's. The first password follows
  // from a link.
  const isConfirmed = user.password_hash !== null || change === "password_chosen";
  if (isConfirmed) await mails.notice(tx, { email, username, what: notice });
  if (event === undefined) return;
  await emit(tx, {
    accountId,
    username: by === undefined ? username : null,
    action: event,
    status: "notification",
    at,
    entity: { type: "user", id, label: username, url: `/v4/account/users/${username}` },
    requested: by === undefined,
  });
}
