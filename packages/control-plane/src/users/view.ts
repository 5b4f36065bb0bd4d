import { type Login, toTimestamp, type User } from "@moorage/contract";
import type { LoginRow } from "#identity/index.ts";
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
