import { type EventEntity, type Login, toTimestamp, type User } from "@moorage/contract";
import { recordChange, type RecordedChange } from "#events/index.ts";
import type { LoginRow, Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { texts } from "./texts.ts";
import type { UserToView } from "./user-store.ts";

export const viewOfUser = (row: UserToView): User => ({
  username: row.username,
  email: row.email,
  restricted: row.restricted,
  ssh_keys: [],
  tfa_enabled: row.tfa_enabled_at !== null,
  verified_phone_number: null,
  password_created: row.password_set_at === null ? null : toTimestamp(row.password_set_at),
  last_login:
    row.last_login_at === null || row.last_login_status === null
      ? null
      : { login_datetime: toTimestamp(row.last_login_at), status: row.last_login_status },
  user_type: "default",
});

/** Only logins with an unknown name lack name and restriction, and those belong to no account. */
export const viewOfLogin = (row: LoginRow): Login => ({
  id: row.id,
  datetime: toTimestamp(row.at),
  ip: row.address,
  restricted: row.restricted ?? false,
  status: row.status,
  username: row.username ?? "",
});

type Change = RecordedChange & { user: { id: number; username: string } };

export const recordUserChange = (tx: Tx, by: Principal, { user, ...change }: Change): Promise<void> =>
  recordChange(tx, by, { ...change, target: targetOf(user.id), entity: entityOf(user) });

/** The user in events and in the audit log. */
const entityOf = (user: { id: number; username: string }) =>
  ({
    id: user.id,
    label: user.username,
    type: "user",
    url: `/v4/account/users/${user.username}`,
  }) satisfies EventEntity;

const targetOf = (userId: number): string => `user/${userId}`;

/** It must not reveal whose name it is. */
export const nameTaken = (): DomainError => invalid("username", texts.nameTaken());

/**
 * Only unrestricted users manage users, and they cannot restrict or delete themselves: an account always keeps an
 * unrestricted user.
 */
export function requireNotOneself(by: Principal, user: { id: number }, change: "delete" | "restrict"): void {
  if (by.userId !== user.id) return;
  throw change === "delete"
    ? new DomainError("wrong-state", { reason: texts.deletesOneself() })
    : new DomainError("invalid", { field: "restricted", reason: texts.restrictsOneself() });
}

export const requireRestricted = (user: { username: string; restricted: boolean }): void => {
  if (!user.restricted)
    throw new DomainError("wrong-state", { reason: texts.notRestricted({ username: user.username }) });
};
