import type { Principal } from "#identity/index.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { texts } from "./texts.ts";

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
