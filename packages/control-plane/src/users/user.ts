import type { Principal } from "#identity/index.ts";
import { DomainError, invalid } from "#platform/errors.ts";

/** It must not reveal whose name it is. */
export const nameTaken = (): DomainError => invalid("username", "a name that nobody has yet, in any case of letters");

/**
 * Only unrestricted users manage users, and they cannot restrict or delete themselves: an account always keeps an
 * unrestricted user.
 */
export function requireNotOneself(by: Principal, user: { id: number }, change: "delete" | "restrict"): void {
  if (by.userId !== user.id) return;
  const reason = `You cannot ${change} yourself. Another unrestricted user of the account can.`;
  throw change === "delete"
    ? new DomainError("wrong-state", { reason })
    : new DomainError("invalid", { field: "restricted", reason });
}

export const requireRestricted = (user: { username: string; restricted: boolean }): void => {
  if (!user.restricted)
    throw new DomainError("wrong-state", {
      reason: `${user.username} is not restricted and may do everything. To give single grants, first set restricted to true.`,
    });
};
